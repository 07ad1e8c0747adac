"""A whole cluster in one terminal: starts its processes, starts those again that end, pulls a node's plug on demand.

Knows the processes only by their command lines, as a service manager would.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from events.private import FOLDER, opener
from haes.drivers.process.keeper import clean
from haes.live.build import PRETENDED

_log = logging.getLogger(__name__)

# Seconds before a process that ended is started again: long enough not to spin, short against every lease.
RESTART_DELAY = 1.0
# Seconds for a process to leave after SIGTERM before it is killed.
LEAVE_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class Member:
    """One process of the cluster: the part that it plays on a node."""

    part: str
    node: str

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.part} of {self.node}"


class Cluster:
    """The processes of a cluster on this machine.

    Attributes:
        members: process id of each process that runs, by member.
    """

    def __init__(self, config: Path, options: Sequence[str], directory: Path, members: Sequence[Member]) -> None:
        """Prepares the cluster; `start` starts it.

        Args:
            config: the cluster's file.
            options: further options for every process.
            directory: where each node's folder is.
            members: who is to run.
        """
        self._config, self._options, self._directory = config, options, directory
        self._wanted = list(members)
        self._stopping = False
        self._tasks: dict[Member, asyncio.Task[None]] = {}
        self.members: dict[Member, asyncio.subprocess.Process] = {}

    @property
    def nodes(self) -> list[str]:
        """The nodes, by name."""
        return sorted({member.node for member in self._wanted})

    def start(self) -> None:
        """Starts everything that is to run."""
        for member in self._wanted:
            self._watch(member)

    def plug(self, node: str) -> None:
        """Starts the processes of a node whose plug was pulled."""
        for member in self._wanted:
            if member.node == node:
                self._watch(member)

    async def pull(self, node: str) -> None:
        """Pulls a node's plug: its processes, its keeper and its services end at once, without a word to anybody."""
        for member in [member for member in self._tasks if member.node == node]:
            await self._forget(member)
        await kill_keeper(self._directory / node)

    async def stop(self) -> None:
        """Ends everything: the processes in good order, then the services, which nobody looks after any more."""
        self._stopping = True
        for process in self.members.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for member, process in list(self.members.items()):
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), LEAVE_LIMIT)
            await self._forget(member)
        for node in self.nodes:
            await kill_keeper(self._directory / node)

    def _watch(self, member: Member) -> None:
        if member not in self._tasks:
            self._tasks[member] = asyncio.create_task(self._keep(member), name=member.name)

    async def _forget(self, member: Member) -> None:
        task = self._tasks.pop(member, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        process = self.members.pop(member, None)
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _keep(self, member: Member) -> None:
        """Runs a process, again and again."""
        folder = self._directory / member.node
        folder.mkdir(parents=True, exist_ok=True, mode=FOLDER)
        while True:
            with open(folder / f"{member.part}.log", "ab", opener=opener) as said:  # noqa: ASYNC230 - as in `private`
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "haes.cli.main", member.part, member.node, "--config", str(self._config)),
                    *self._options,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    # Ctrl-C in the terminal is for us, who then ask everybody to leave in good order.
                    start_new_session=True,
                )
            self.members[member] = process
            status = await process.wait()
            if self._stopping:
                return
            _log.warning("the %s ended with status %s, see %s", member.name, status, folder / f"{member.part}.log")
            await asyncio.sleep(RESTART_DELAY)


def members_of(nodes: Mapping[str, object], managers: int) -> list[Member]:
    """Returns who runs a cluster: an agent on every node, a manager on the first few."""
    names = sorted(nodes)
    return [
        *(Member("agent", node) for node in names),
        *(Member("manager", node) for node in names[:managers]),
    ]


async def kill_keeper(directory: Path) -> None:
    """Kills a node's keeper and with it the node's services."""
    await asyncio.to_thread(clean, directory)
    (directory / PRETENDED).unlink(missing_ok=True)
