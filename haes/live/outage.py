"""Times in which something cannot be reached: said once when they begin, once when they end; decides nothing.

And the ways to wait through them, which end at once when the process is to leave.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from haes.clock import boottime

_log = logging.getLogger(__name__)

# Seconds between two tries while the log is away: short against every lease, long against a refused connection.
RETRY_INTERVAL = 0.25
# Seconds that a process which is to leave waits for what it has just begun: most appends take some milliseconds.
STOP_GRACE = 0.25

T = TypeVar("T")


class Stopped(Exception):
    """The process is to leave; what was waited for did not come."""


async def unless_stopped(stop: asyncio.Event, act: Coroutine[Any, Any, T], grace: float = STOP_GRACE) -> T:
    """Waits for something as long as the process is not asked to stop, and a little longer; then it is cancelled.

    Raises:
        Stopped: it had not ended by then.
    """
    current = asyncio.current_task()
    task = asyncio.create_task(act, name=None if current is None else current.get_name())
    stopper = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopper}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await asyncio.wait({task}, timeout=grace)
        if not task.done():
            raise Stopped
        return task.result()
    finally:
        stopper.cancel()
        while not task.done():
            # Again and again: what is inside may take a cancellation for an answer that did not come.
            task.cancel()
            await asyncio.wait({task}, timeout=STOP_GRACE)


async def pause_unless(stop: asyncio.Event, seconds: float) -> None:
    """Waits for some seconds, or less when the process is asked to stop."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


class Outage:
    """Whether something, usually the log, is away right now, and since when.

    It may answer some questions and not others: it is back when it answers all that it did not.

    Attributes:
        since: when it was first missed, by `boottime`; None while it is there.
    """

    def __init__(self, what: str = "the log") -> None:
        self._what = what
        self._unanswered: set[str] = set()
        self.since: float | None = None

    def begin(self, error: Exception, asked: str = "") -> None:
        """Notes that it did not answer; only the first time is said.

        Args:
            error: what it was.
            asked: what it was asked for, where it may answer other questions.
        """
        self._unanswered.add(asked)
        if self.since is None:
            self.since = boottime()
            _log.warning("%s is away, waiting for it: %s", self._what, error)

    def end(self, asked: str = "") -> float | None:
        """Notes that it answered; returns how many seconds it was away, None if it was not, or still is."""
        self._unanswered.discard(asked)
        if self.since is None or self._unanswered:
            return None
        lasted, self.since = boottime() - self.since, None
        _log.warning("%s is back after %.1f s", self._what, lasted)
        return lasted
