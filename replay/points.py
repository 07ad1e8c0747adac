"""Points in a stream, as people name them: a sequence number, a stream id, a time, or so long before the end."""

import re
from dataclasses import dataclass
from datetime import datetime

from events.envelope import Event
from events.errors import UserError
from events.log.port import EventLog

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


@dataclass(frozen=True, slots=True)
class _Place:
    """What a text names: a number or a time; the other is None."""

    number: int | None
    time: float | None

    def is_before(self, event: Event) -> bool:
        """Returns whether an event lies behind the place."""
        return (self.number is not None and event.n > self.number) or (self.time is not None and event.at > self.time)


async def find_point(log: EventLog, text: str) -> Point:
    """Returns the last event at or before a point.

    Raises:
        UserError: the text is no point, or the log has nothing up to there.
    """
    place = await _parse(log, text)
    found: Point | None = None
    async for event in log.read_all():
        if place.is_before(event):
            break
        found = Point(event.n, event.at)
    if found is None:
        raise UserError(f"the log has no event up to '{text}'")
    return found


async def find_begin(log: EventLog, text: str) -> Point:
    """Returns the last event that lies wholly before a point (number 0 when none does), and the time of the point.

    What is read after that number begins with the event of the point's number, or the first one at or after its time.

    Raises:
        UserError: the text is no point.
    """
    place = await _parse(log, text)
    before, at = 0, 0.0
    async for event in log.read_all():
        if place.is_before(event) or event.n == place.number or event.at == place.time:
            at = event.at
            break
        before, at = event.n, event.at
    return Point(before, at if place.time is None else place.time)


async def _parse(log: EventLog, text: str) -> _Place:
    if _NUMBER.match(text):
        return _Place(int(text), None)
    if _ID.match(text):
        return _Place(int(text.partition("-")[2]), None)
    if match := _SECONDS.match(text):
        return _Place(None, float(match[1]))
    if match := _BACK.match(text):
        return _Place(None, (await _last(log)).at - float(match[1]) * _UNITS[match[2]])
    try:
        return _Place(None, datetime.fromisoformat(text).timestamp())
    except ValueError as error:
        raise UserError(f"'{text}' is no point in a stream; expected {FORMS}") from error


async def _last(log: EventLog) -> Point:
    head = await log.head()
    events = await log.read(head.n - 1, count=1) if head.n else []
    if not events:
        raise UserError(f"cluster '{log.cluster}' has no events in this log")
    return Point(events[-1].n, events[-1].at)
