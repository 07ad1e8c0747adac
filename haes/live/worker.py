"""What a manager and an agent have in common: a lease, a copy of the state, waiting, and outlasting the log's faults.

Knows nothing of what either of them decides.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from events.envelope import Event
from events.errors import Fenced, LogFault, LogMissing, LogTruncated, LogUnavailable, StaleDecision
from events.log.port import EventLog
from events.readers import position_note
from haes.configuration.cluster import Intervals
from haes.live.decision import Decision, Right
from haes.live.follow import FOLLOW_INTERVAL
from haes.live.lease import HeldLease
from haes.live.outage import RETRY_INTERVAL, Outage, Stopped, pause_unless, unless_stopped
from haes.live.replica import Replica
from haes.live.seen import Seen, SeenFile

_log = logging.getLogger(__name__)

# Seconds that news are collected before somebody acts on them, so that a burst of reports costs one round.
SETTLE_INTERVAL = 0.05
# Seconds between two tries to take a lease that somebody else holds.
LEASE_INTERVAL = 0.5
# What the log is asked for beside everything else; it may read and not write, or the other way round.
_LEASES = "leases"


class Worker(ABC):
    """A process of the cluster.

    Attributes:
        node: the node.
        replica: the state as this process knows it.
        lease: its own lease; it writes under it.
        by: how it signs what it writes.
    """

    def __init__(self, log: EventLog, node: str, part: str, lease: HeldLease, seen: SeenFile | None = None) -> None:
        self.node = node
        self.log = log
        self.lease = lease
        self._stop = asyncio.Event()
        self.replica = Replica(log, self._see)
        # While it is there, nothing is trimmed that it has not read.
        lease.note = lambda: position_note(self.replica.state.n)
        self.by = f"{node}/{part}"
        self._wake = asyncio.Event()
        self._fault: LogFault | None = None
        self._unreadable = Outage("what comes next in the log")
        self._unheard = Outage("the right to write")
        self._seen_file = seen
        self._seen: Seen | None = None if seen is None else seen.load()

    async def run(self, stop: asyncio.Event) -> None:
        """Works until it is told to stop, then leaves in good order."""
        self._stop = stop
        if not await self._persist(self.replica.open):
            return
        await self._wait_for_known_log()
        if stop.is_set():
            return
        position = self.replica.checkpoint
        if self._seen is not None and (self._seen.log_id != position.log_id or self._seen.n > position.n):
            # It is another log, or it lost its tail.
            await self._persist(self._raise_generation)
        while not stop.is_set():
            await self._take_lease()
            # What came before the lease was granted must be known before anything is done.
            if await self._persist(self.replica.catch_up) and await self._persist(self._begin):
                break
            await pause_unless(stop, LEASE_INTERVAL)
        if stop.is_set():
            return
        if self._seen is not None and self._seen.n > self.replica.state.n:
            await self._persist(lambda: self._regressed(self._seen.n if self._seen else 0))
        self._note_position()
        stopper = asyncio.create_task(self._wake_on(stop), name=f"{self.by} stop")
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._renew_for_ever(), name=f"{self.by} leases"),
                group.create_task(self._follow_for_ever(), name=f"{self.by} follow"),
                *(group.create_task(task, name=f"{self.by} {name}") for name, task in self._tasks()),
                stopper,
            ]
            try:
                while not stop.is_set():
                    await self._wait()
                    if not await self._persist(self._step):
                        await pause_unless(stop, LEASE_INTERVAL)
                await self._leave()
            finally:
                for task in tasks:
                    task.cancel()

    @abstractmethod
    def use(self, intervals: Intervals) -> None:
        """Works at another pace from now on."""

    def _tasks(self) -> "list[tuple[str, Coroutine[Any, Any, None]]]":
        """Returns further tasks that run beside the work."""
        return []

    @abstractmethod
    async def _begin(self) -> None:
        """Records that the process is there."""

    @abstractmethod
    async def _step(self) -> None:
        """Does what is due."""

    @abstractmethod
    async def _leave(self) -> None:
        """Leaves in good order, within bounds."""

    @abstractmethod
    def _pause(self) -> float:
        """Returns the seconds until something is due without any news."""

    @abstractmethod
    def _is_urgent(self, event: Event) -> bool:
        """Returns whether an event is a reason not to wait."""

    async def _renew(self) -> None:
        """Renews the leases."""
        if self._fault is not None:
            # On a log that is not the known one nothing is held.
            return
        if not await self.lease.renew() and self.lease.token is None:
            await self._lost_lease()

    async def _lost_lease(self) -> None:
        """Tries to get the lease back."""
        if await self._try_lease() is None:
            self._wake.set()

    @abstractmethod
    def _on_back(self, lasted: float) -> None:
        """The log is back after an outage of so many seconds."""

    def _see(self, event: Event) -> None:
        if event.by != self.by and self._is_urgent(event):
            self._wake.set()

    async def _batch(self, right: Right | None = None) -> Decision:
        """Begins a decision at the present time, on what is known, under the process's own lease or another right."""
        right = Right.of(self.lease) if right is None else right
        now = await self.log.now()
        return Decision(self.replica.state.working_copy(), self.by, now, right)

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            # Not wait_for, which may swallow a cancellation that comes together with what it waits for.
            async with asyncio.timeout(max(0.0, self._pause())):
                await self._wake.wait()
        if self._wake.is_set():
            await asyncio.sleep(SETTLE_INTERVAL)
        self._wake.clear()

    async def _wake_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()

    async def _take_lease(self) -> None:
        """Takes the lease; one that a predecessor of this very place left behind is taken over at once."""
        said = False
        while not self._stop.is_set():
            try:
                holder = await unless_stopped(self._stop, self._try_lease())
                if holder is None:
                    self._back()
                    return
                if not said:
                    _log.warning("lease '%s' is held by %s, waiting", self.lease.name, holder)
                    said = True
            except Stopped:
                return
            except (LogUnavailable, LogMissing) as error:
                self.replica.outage.begin(error)
            await pause_unless(self._stop, LEASE_INTERVAL)

    async def _try_lease(self) -> str | None:
        """Tries to take the lease once; returns who holds it, None when it is this process now.

        One in its own name it takes over: a predecessor's, or its own whose right was voided with all others. Waiting
        for the end of that term would be waiting for nobody, and a node's services would end before.
        """
        known = (await self.log.leases()).get(self.lease.name)
        if await self.lease.acquire(seize=known is not None and known.owner == self.lease.owner):
            return None
        return known.owner if known else "somebody"

    async def _renew_for_ever(self) -> None:
        while True:
            pause = self.lease.interval
            try:
                await self._renew()
                self._back(_LEASES)
                if self._fault is None:
                    self._note_position()
            except LogUnavailable as error:
                self.replica.outage.begin(error, _LEASES)
                pause = RETRY_INTERVAL
            except LogFault as fault:
                # The log itself is gone; whoever reads it next meets that, too, and knows what to do.
                self._fault = fault
                self._wake.set()
                pause = RETRY_INTERVAL
            if not self.lease.valid():
                # Whoever waits for the lease to be there or to be over is told.
                self._wake.set()
                pause = min(pause, LEASE_INTERVAL)
            await asyncio.sleep(pause)

    async def _follow_for_ever(self) -> None:
        while True:
            try:
                await self.replica.follow(FOLLOW_INTERVAL)
            except LogUnavailable as error:
                self.replica.outage.begin(error)
                await asyncio.sleep(RETRY_INTERVAL)
            except LogFault as fault:
                self._fault = fault
                self._wake.set()
                await asyncio.sleep(RETRY_INTERVAL)
            else:
                self._back()

    def _back(self, asked: str = "") -> None:
        lasted = self.replica.outage.end(asked)
        if lasted is not None:
            self._on_back(lasted)
            self._wake.set()

    async def _persist(self, act: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Does something as often as it takes to get past outages, conflicts and faults of the log.

        Returns whether it was done: not when the process is asked to leave before, or has no right to write.
        """
        # Whoever leaves already does so within bounds of its own.
        stop = asyncio.Event() if self._stop.is_set() else self._stop
        while not stop.is_set():
            try:
                if self._fault is not None:
                    await unless_stopped(stop, self._face(self._fault))
                await unless_stopped(stop, act())
            except Stopped:
                break
            except LogUnavailable as error:
                self.replica.outage.begin(error)
                await pause_unless(stop, RETRY_INTERVAL)
            except StaleDecision:
                await asyncio.sleep(0)
            except Fenced as error:
                self._unheard.begin(error)
                return False
            except LogFault as fault:
                self._fault = fault
                await pause_unless(stop, RETRY_INTERVAL)
            else:
                self._unheard.end()
                self._back()
                return True
        return False

    async def _face(self, fault: LogFault) -> None:
        """Meets a log that is not the one it was: reads it anew, then says what is missing."""
        known = self.replica.state.n
        self._unreadable.begin(fault)
        if isinstance(fault, LogTruncated):
            # Slept for so long that what it did not read was trimmed; a snapshot stands for that, and nothing is lost.
            await self.replica.open()
            if self.replica.state.n >= known:
                _log.info("went on from a snapshot, up to event %d", self.replica.state.n)
                self._unreadable.end()
                self._fault = None
                return
        await self.replica.rebuild()
        await self._wait_for_known_log()
        await self._raise_generation()
        await self._regressed(known)
        self._unreadable.end()
        self._fault = None

    async def _raise_generation(self) -> None:
        """Fences everybody who decided on what was lost, this process included: no token of then is good any more."""
        known = max(
            0 if self._seen is None else self._seen.generation,
            0 if self.lease.token is None else self.lease.token.generation,
        )
        if (await self.log.head()).generation <= known:
            await self.log.raise_generation(known)

    async def _wait_for_known_log(self) -> None:
        """Does nothing on a log that is another one, or an empty one, until that is accepted or the known one is back.

        Acting on it would start services that run elsewhere, and stop those that nobody configured there.
        """
        said = False
        while self._seen is not None and not self._stop.is_set():
            position = self.replica.checkpoint
            if position.log_id in {self._seen.log_id, self.replica.state.accepted_log}:
                return
            if not said:
                said = True
                _log.error(
                    "this is log %s with %d events, known is %s with %d; 'haes log accept-regression' lets it go on",
                    *(position.log_id, self.replica.state.n, self._seen.log_id, self._seen.n),
                )
            await pause_unless(self._stop, LEASE_INTERVAL)
            with suppress(LogUnavailable, LogFault):
                await self.replica.rebuild()

    def _note_position(self) -> None:
        """Keeps in mind, across restarts, which log this is and how far it goes."""
        position = self.replica.checkpoint
        generation = 0 if self.lease.token is None else self.lease.token.generation
        self._seen = Seen(position.log_id, position.n, generation)
        if self._seen_file is not None:
            self._seen_file.save(self._seen)

    @abstractmethod
    async def _regressed(self, known_n: int) -> None:
        """The log lost its tail, or is another one; the state is folded anew."""
