"""Points in a stream, as people name them: a sequence number, a stream id, a time, or so long before the end.

A point is found without reading the stream: times are looked for by halving, a thousand entries at a look. That is
exact as long as no thousand consecutive events are all older than one before them: events of one round may be recorded
out of order, and a node that was cut off records late what it saw, but never that much.
"""

import re
from collections.abc import Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from datetime import datetime

from events.codec import AT, decode_entry, decode_time
from events.errors import LogTruncated, UserError
from events.history import History
from events.log.port import READ_COUNT, EventLog, RawEntry

_ID = re.compile(r"^\d+-\d+$")
_NUMBER = re.compile(r"^\d+$")
_SECONDS = re.compile(r"^@(\d+(?:\.\d+)?)$")
_BACK = re.compile(r"^-(\d+(?:\.\d+)?)([smhd]?)$")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
FORMS = "a sequence number (57), a stream id (1764572323123-57), a time (@320 or 2026-12-01T03:00), or -5m"


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a stream: the number of the last event that belongs to it, and its time."""

    n: int
    at: float


async def find_point(log: EventLog | History, text: str) -> Point:
    """Returns the last event at or before a point: for a time, the one before the first event that is later.

    Raises:
        UserError: the text is no point, or the log has nothing up to there.
        LogTruncated: what is up to there is neither in the stream nor in the archive.
    """
    history = log if isinstance(log, History) else History(log)
    number, time = await _parse(history, text)
    end = (await history.log.head()).n
    if number is None:
        number = end if time is None else await _last_up_to(history, time, end)
    number = min(number, end)
    if not number:
        raise UserError(f"the log has no event up to '{text}'")
    return Point(number, _time_of(await _entry(history, number)))


async def _parse(history: History, text: str) -> tuple[int | None, float | None]:
    """Returns the number or the time that a text means."""
    if _NUMBER.match(text):
        return int(text), None
    if _ID.match(text):
        return int(text.partition("-")[2]), None
    if match := _SECONDS.match(text):
        return None, float(match[1])
    if match := _BACK.match(text):
        return None, (await _end(history)).at - float(match[1]) * _UNITS[match[2]]
    try:
        return None, datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise UserError(f"'{text}' is no point in a stream; expected {FORMS}") from error


async def _end(history: History) -> Point:
    head = await history.log.head()
    if not head.n:
        raise UserError(f"cluster '{history.log.cluster}' has no events in this log")
    return Point(head.n, _time_of(await _entry(history, head.n)))


async def _last_up_to(history: History, time: float, end: int) -> int:
    """Returns the number of the event before the first one that is later than a time."""
    first = await history.first_in_stream()
    if 1 < first <= end and _time_of(await _entry(history, first)) > time:
        return await _last_archived(history, time)
    # Blocks are numbered from the stream's beginning; wanted is the first that holds something later.
    low, high = 0, (end - first) // READ_COUNT + 1
    while low < high:
        middle = (low + high) // 2
        block = await _block(history, first - 1 + middle * READ_COUNT)
        if max(map(_time_of, block), default=time) > time:
            high = middle
        else:
            low = middle + 1
    after = first - 1 + low * READ_COUNT
    return after + _before_later(await _block(history, after), time) if after < end else end


async def _last_archived(history: History, time: float) -> int:
    """Does the same for a time before the stream's beginning: finds the segment, then reads it."""
    head = await history.log.head()
    begin = 0
    for segment in history.segments():
        with closing(history.blocks(segment, head.log_id)) as blocks:
            if _time_of(next(blocks)[0]) > time:
                break
        begin = segment.first - 1
    async with aclosing(history.chunks(begin)) as chunks:
        async for chunk in chunks:
            count = _before_later(chunk, time)
            begin += count
            if count < len(chunk):
                break
    return begin


async def _block(history: History, after: int) -> list[RawEntry]:
    """Returns the thousand entries of the stream that follow a number; fewer at the end."""
    async with aclosing(history.log.raw_chunks(after, count=READ_COUNT)) as chunks:
        async for chunk in chunks:
            return chunk
    return []


async def _entry(history: History, n: int) -> RawEntry:
    async with aclosing(history.chunks(n - 1, n)) as chunks:
        async for chunk in chunks:
            return chunk[0]
    raise LogTruncated(f"event {n} is gone")


def _before_later(entries: Sequence[RawEntry], time: float) -> int:
    """Returns how many entries come before the first one that is later than a time."""
    return next((index for index, entry in enumerate(entries) if _time_of(entry) > time), len(entries))


def _time_of(entry: RawEntry) -> float:
    """Returns the domain time of an entry.

    Raises:
        EntryCorrupt: it cannot be read.
    """
    entry_id, flat = entry
    try:
        return decode_time(flat[AT])
    except (ValueError, LookupError):
        # Says what is wrong with the entry.
        return decode_entry(entry_id, flat).at
