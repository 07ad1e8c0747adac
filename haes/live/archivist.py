"""Lets the leader's host keep old events in files: takes the steps of `haes archive`, each as a process of its own.

So whoever reads a segment back is not who wrote it, and none of it takes time from leading. A step that fails is said
once and tried again at the next turn; until then the stream keeps everything.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from haes.configuration.cluster import Archiving

_log = logging.getLogger(__name__)

# Seconds for one step: a segment is written in some three; more of them wait for the next turn.
STEP_LIMIT = 600.0
# Added to the niceness: services and the manager come first.
NICENESS = 10


class Archivist:
    """Archives from time to time.

    Attributes:
        trouble: why the last turn failed, None when it did not.
    """

    def __init__(self, archiving: Archiving, log_url: str, cluster: str) -> None:
        """Prepares it.

        Args:
            archiving: where, how much and how often.
            log_url: of the log.
            cluster: the cluster.
        """
        self._archiving = archiving
        # Not on the command lines, where everybody could read a password.
        self._environment = {**os.environ, "HAES_LOG": log_url, "HAES_CLUSTER": cluster}
        self.trouble: str | None = None

    async def run(self, leads: Callable[[], bool]) -> None:
        """Archives until it is cancelled, whenever this is the leader's host."""
        while True:
            await asyncio.sleep(self._archiving.interval)
            if leads():
                await self.turn()

    async def turn(self) -> None:
        """Takes every step once, as long as they succeed."""
        keep = ("--keep", str(self._archiving.keep_events))
        size = ("--segment-events", str(self._archiving.segment_events), "--whole")
        for step, options in (("write", (*keep, *size)), ("check", ()), ("trim", keep)):
            trouble = await self._step(step, options)
            if trouble is not None:
                if trouble != self.trouble:
                    _log.error("archiving stopped at '%s', nothing is trimmed: %s", step, trouble)
                self.trouble = trouble
                return
        if self.trouble is not None:
            _log.info("archiving works again")
        self.trouble = None

    async def _step(self, step: str, options: Sequence[str]) -> str | None:
        """Takes one step; returns why it failed."""
        process = await asyncio.create_subprocess_exec(
            *("nice", "-n", str(NICENESS), sys.executable, "-m", "haes.cli.main"),
            *("archive", step, self._archiving.directory, *options),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        try:
            async with asyncio.timeout(STEP_LIMIT):
                _, said = await process.communicate()
        except TimeoutError:
            return f"it took more than {STEP_LIMIT:g} s"
        finally:
            with suppress(ProcessLookupError):
                process.kill()
        return None if process.returncode == 0 else said.decode(errors="replace").strip()
