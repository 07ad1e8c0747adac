"""Points in a stream, as people name them: a sequence number, a stream id, a time, or so long before the end."""

import re
from dataclasses import dataclass
from datetime import datetime

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


async def find_point(log: EventLog, text: str) -> Point:
    """Returns the last event at or before a point.

    Raises:
        UserError: the text is no point, or the log has nothing up to there.
    """
    number: int | None = None
    time: float | None = None
    if _NUMBER.match(text):
        number = int(text)
    elif _ID.match(text):
        number = int(text.partition("-")[2])
    elif match := _SECONDS.match(text):
        time = float(match[1])
    elif match := _BACK.match(text):
        time = (await _last(log)).at - float(match[1]) * _UNITS[match[2]]
    else:
        try:
            time = datetime.fromisoformat(text).timestamp()
        except ValueError as error:
            raise UserError(f"'{text}' is no point in a stream; expected {FORMS}") from error
    found: Point | None = None
    async for event in log.read_all():
        if (number is not None and event.n > number) or (time is not None and event.at > time):
            break
        found = Point(event.n, event.at)
    if found is None:
        raise UserError(f"the log has no event up to '{text}'")
    return found


async def _last(log: EventLog) -> Point:
    head = await log.head()
    events = await log.read(head.n - 1, count=1) if head.n else []
    if not events:
        raise UserError(f"cluster '{log.cluster}' has no events in this log")
    return Point(events[-1].n, events[-1].at)
