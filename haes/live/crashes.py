"""What a process remembers of its own ends by faults of its program, so that it does not end again and again unseen.

One that ended at the same place waits before it begins anew, longer each time, and says so in one line. Knows nothing
of what it does.
"""

import asyncio
import json
import logging
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from events.errors import HaesError
from events.private import write_private
from haes.bounds import shown_error
from haes.clock import boottime
from haes.live.outage import pause_unless

_log = logging.getLogger(__name__)

# Seconds of the first wait, doubled with each end at the same place, and of the longest: shorter than a service
# manager waits for a process to begin.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
# Seconds of work after which an end at the same place counts as the first one again.
STEADY = 600.0
_OURS = ("events", "haes")


class Crashed(HaesError):
    """The process ended, not for the first time, at one place of the program."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """How often in a row a process ended at a place, and because of what."""

    place: str = ""
    problem: str = ""
    times: int = 0


class Crashes:
    """The ends of one process, in a file of its own."""

    def __init__(self, file: Path, part: str) -> None:
        """Remembers.

        Args:
            file: where.
            part: what the process calls itself.
        """
        self._file = file
        self._part = part
        self._begun = boottime()

    async def wait(self, stop: asyncio.Event) -> None:
        """Waits before work begins, when the process has ended at one place before; less when it is to leave."""
        ends = self._load()
        if ends.times:
            seconds = min(FIRST_WAIT * 2.0 ** min(ends.times - 1, 10), LONGEST_WAIT)
            _log.error(
                "%s ended %d times in a row at %s (%s), begins again in %.0f s",
                *(self._part, ends.times, ends.place, ends.problem, seconds),
            )
            await pause_unless(stop, seconds)
        self._begun = boottime()

    def record(self, error: Exception) -> Crashed | None:
        """Notes that the process ends; returns what to say instead of the whole story when that was told before."""
        before, place = self._load(), _place(error)
        again = before.place == place and boottime() - self._begun < STEADY
        ends = _Ends(place, shown_error(error), before.times + 1 if again else 1)
        self._save(ends)
        if not again:
            return None
        return Crashed(f"{self._part} ended {ends.times} times in a row at {place} ({ends.problem})")

    def clear(self) -> None:
        """Forgets it all: the process left in good order."""
        self._file.unlink(missing_ok=True)

    def _load(self) -> _Ends:
        try:
            return _Ends(**json.loads(self._file.read_text()))
        except (OSError, TypeError, ValueError):
            return _Ends()

    def _save(self, ends: _Ends) -> None:
        try:
            new = self._file.with_suffix(".new")
            write_private(new, json.dumps(asdict(ends)))
            new.replace(self._file)
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._file, error)


def _place(error: Exception) -> str:
    """Returns the last place in this program that an error came through."""
    root = Path(__file__).parent.parent.parent
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        file = Path(frame.filename)
        if file.is_relative_to(root) and file.relative_to(root).parts[0] in _OURS:
            return f"{file.relative_to(root)}:{frame.lineno}"
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
