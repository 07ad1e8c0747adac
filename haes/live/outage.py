"""Times in which something cannot be reached: said once when they begin, once when they end; decides nothing."""

import asyncio
import logging
from contextlib import suppress

from haes.clock import boottime

_log = logging.getLogger(__name__)

# Seconds between two tries while the log is away: short against every lease, long against a refused connection.
RETRY_INTERVAL = 0.25


async def pause_unless(stop: asyncio.Event, seconds: float) -> None:
    """Waits for some seconds, or less when the process is asked to stop."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


class Outage:
    """Whether something, usually the log, is away right now, and since when.

    Attributes:
        since: when it was first missed, by `boottime`; None while it is there.
    """

    def __init__(self, what: str = "the log") -> None:
        self._what = what
        self.since: float | None = None

    def begin(self, error: Exception) -> None:
        """Notes that it could not be reached; only the first time is said."""
        if self.since is None:
            self.since = boottime()
            _log.warning("%s is away, waiting for it: %s", self._what, error)

    def end(self) -> float | None:
        """Notes that it answered; returns how many seconds it was away, None if it was not."""
        if self.since is None:
            return None
        lasted, self.since = boottime() - self.since, None
        _log.warning("%s is back after %.1f s", self._what, lasted)
        return lasted
