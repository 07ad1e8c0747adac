"""Points in a stream, as people name them: a sequence number, a stream id, a time, or so long before the end.

A point is found without reading the stream: times are looked for by halving, a thousand entries at a look. That is
exact as long as no thousand consecutive events are all older than one before them: events of one round may be recorded
out of order, and a node that was cut off records late what it saw, but never that much.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass
from datetime import datetime

from events.codec import AT, decode_time
from events.errors import UserError
from events.history import History, read_number
from events.log.port import READ_COUNT, RawEntry

_ID = re.compile(r"^\d+-\d+$")
_NUMBER = re.compile(r"^\d+$")
_SECONDS = re.compile(r"^@(\d+(?:\.\d+)?)$")
_BACK = re.compile(r"^-(\d+(?:\.\d+)?)([smhd]?)$")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
Behind = Callable[[float], bool]
FORMS = "a sequence number (57), a stream id (1764572323123-57), a time (@320 or 2026-12-01T03:00), or -5m"


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a stream: the number of the last event that belongs to it, and its time."""

    n: int
    at: float


async def find_point(history: History, text: str) -> Point:
    """Returns the last event at or before a point: for a time, the one before the first event that is later.

    Raises:
        UserError: the text is no point, or the log has nothing up to there.
        LogTruncated: what is up to there is neither in the stream nor in the archive.
    """
    number, time = await _parse(history, text)
    end = (await history.log.head()).n
    if time is not None:
        number = await _last_before(history, end, lambda at: at > time)
    number = min(number, end)
    if not number:
        raise UserError(f"the log has no event up to '{text}'")
    return Point(number, await _time_at(history, number))


async def find_begin(history: History, text: str) -> Point:
    """Returns the last event that lies wholly before a point (number 0 when none does), and the time of the point.

    What is read after that number begins with the event of the point's number, or the first one at or after its time.

    Raises:
        UserError: the text is no point.
        LogTruncated: the point is neither in the stream nor in the archive.
    """
    number, time = await _parse(history, text)
    end = (await history.log.head()).n
    if time is not None:
        return Point(await _last_before(history, end, lambda at: at >= time), time)
    before = min(max(0, number - 1), end)
    return Point(before, await _time_at(history, min(before + 1, end)) if end else 0.0)


async def _parse(history: History, text: str) -> tuple[int, float | None]:
    """Returns the number that a text means, or with a time the time; the number is of no use then."""
    if _NUMBER.match(text):
        return int(text), None
    if _ID.match(text):
        return int(text.partition("-")[2]), None
    if match := _SECONDS.match(text):
        return 0, float(match[1])
    if match := _BACK.match(text):
        head = await history.log.head()
        if not head.n:
            raise UserError(f"cluster '{history.log.cluster}' has no events in this log")
        return 0, await _time_at(history, head.n) - float(match[1]) * _UNITS[match[2]]
    try:
        return 0, datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise UserError(f"'{text}' is no point in a stream; expected {FORMS}") from error


async def _last_before(history: History, end: int, is_behind: Behind) -> int:
    """Returns the number of the event before the first one whose time lies behind a place, as `is_behind` says."""
    first = await history.first_in_stream()
    if first > 1 and (first > end or is_behind(await _time_at(history, first))):
        return await _last_read_before(history, await _archived_begin(history, is_behind), is_behind)
    # Blocks are numbered from the stream's beginning; wanted is the first that has something behind the place.
    low, high = 0, (end - first) // READ_COUNT + 1
    while low < high:
        middle = (low + high) // 2
        if any(map(is_behind, _times(await _block(history, first - 1 + middle * READ_COUNT)))):
            high = middle
        else:
            low = middle + 1
    # One block earlier: entries that are no events take places, so that a block may end before the next one begins.
    return await _last_read_before(history, first - 1 + max(0, low - 1) * READ_COUNT, is_behind)


async def _archived_begin(history: History, is_behind: Behind) -> int:
    """Returns the number of the event before the segment that a place before the stream's beginning lies in."""
    head = await history.log.head()
    begin = 0
    for segment in history.segments():
        with closing(history.blocks(segment, head.log_id)) as blocks:
            if any(map(is_behind, _times(next(blocks)[:1]))):
                break
        begin = segment.first - 1
    return begin


async def _last_read_before(history: History, after: int, is_behind: Behind) -> int:
    """Returns the number of the event before the first one behind a place, by reading on from an event."""
    async with aclosing(history.chunks(after)) as chunks:
        async for chunk in chunks:
            for entry in chunk:
                if any(map(is_behind, _times([entry]))):
                    return after
                after = read_number(entry) or after
    return after


async def _block(history: History, after: int) -> list[RawEntry]:
    """Returns the thousand entries of the stream that follow a number; fewer at the end."""
    async with aclosing(history.log.raw_chunks(after, count=READ_COUNT)) as chunks:
        async for chunk in chunks:
            return chunk
    return []


async def _time_at(history: History, n: int) -> float:
    """Returns the time of an event; where it cannot be read, that of the closest one before it that can."""
    for begin in (n - 1, max(0, n - READ_COUNT)):
        times: list[float] = []
        async with aclosing(history.chunks(begin, n)) as chunks:
            async for chunk in chunks:
                times += _times(chunk)
        if times:
            return times[-1]
    return 0.0


def _times(entries: Iterable[RawEntry]) -> Iterator[float]:
    """Yields the domain times of entries; what is no event, or damaged there, has none."""
    for _, flat in entries:
        with suppress(ValueError, LookupError):
            yield decode_time(flat[AT])
