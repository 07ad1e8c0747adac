"""Follows the cluster for everybody who looks: one copy of the state, the latest events, the latest loads.

Knows nothing of HTTP. However many pages are open, the log is read once.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress

from events.envelope import Event
from events.errors import LogFault, LogUnavailable
from events.log.port import EventLog
from haes.clock import boottime
from haes.live.follow import FOLLOW_INTERVAL
from haes.live.outage import RETRY_INTERVAL
from haes.live.presence import LEADER_LEASE
from haes.live.replica import Replica
from haes.live.status import trouble
from haes.live.telemetry import LoadWindow
from haes.scheduling.stats import NodeStats

# Events kept for pages that follow: one that fell further behind reads the whole picture again.
RECENT = 2000
# Seconds between two looks at samples and leases, which are no events.
LOOK_INTERVAL = 2.0
# Seconds over which loads are averaged for the eye.
WINDOW = 60.0
# Seconds without an answer of the log after which what is shown is no longer the present.
STALE_AFTER = 5.0


class Behind(Exception):
    """What was asked for is older than what is kept; read the whole picture."""


class Follower:
    """The cluster as it is.

    Attributes:
        log: the log.
        replica: the state.
        loads: node -> capacity and load, as last measured.
        trouble: what somebody should look at.
        leases: of leader and agents, name -> seconds left or None for one without an end.
        counts: event type -> how many were seen since the follower began.
        fault: what is wrong with the log, None while it can be read.
    """

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.replica = Replica(log, self._see)
        self.loads: dict[str, NodeStats] = {}
        self.trouble: list[str] = []
        self.leases: dict[str, float | None] = {}
        self.counts: Counter[str] = Counter()
        self.fault: str | None = None
        self.head = 0
        self._window = LoadWindow()
        self._recent: deque[Event] = deque(maxlen=RECENT)
        self._news = asyncio.Event()
        self._answered = boottime()

    async def open(self) -> None:
        """Reads the log up to its end.

        Raises:
            LogUnavailable: its server cannot be reached.
        """
        await self.replica.open()
        self._answered = boottime()
        with suppress(LogUnavailable):
            await self._look()

    async def run(self) -> None:
        """Follows for ever; outages are waited out."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(), name="web follows")
            group.create_task(self._look_for_ever(), name="web looks at leases and loads")

    @property
    def why_not_ready(self) -> str | None:
        """Why what is shown may not be the present; None when it is."""
        silent = boottime() - self._answered
        if self.fault is not None:
            return self.fault
        if silent > STALE_AFTER:
            return f"the log has not answered for {silent:.0f} s"
        if self.replica.state.n < self.head:
            return f"{self.head - self.replica.state.n} events behind"
        return None

    async def news(self, after: int, seconds: float) -> Sequence[Event]:
        """Returns the events after a number, waiting for some seconds if there are none yet.

        Raises:
            Behind: some of them are not kept any more.
        """
        state = self.replica.state
        if state.n <= after:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait()
        found = [event for event in self._recent if event.n > after]
        if (found and found[0].n > after + 1) or (not found and self.replica.state.n > after):
            raise Behind
        return found

    def _see(self, event: Event) -> None:
        self._recent.append(event)
        self.counts[event.type] += 1
        self._news.set()
        self._news = asyncio.Event()

    async def _follow(self) -> None:
        while True:
            try:
                await self.replica.follow(FOLLOW_INTERVAL)
            except LogUnavailable as error:
                self.replica.outage.begin(error)
                await asyncio.sleep(RETRY_INTERVAL)
            except LogFault as fault:
                # The log is another one, or lost its end: what is shown from now on is what it has.
                self.fault = str(fault)
                await asyncio.sleep(RETRY_INTERVAL)
                with suppress(LogUnavailable, LogFault):
                    await self.replica.open()
                    self._recent.clear()
            else:
                self.replica.outage.end()
                self.fault, self._answered = None, boottime()

    async def _look_for_ever(self) -> None:
        while True:
            await asyncio.sleep(LOOK_INTERVAL)
            # The other task says when the log is away, and waits.
            with suppress(LogUnavailable):
                await self._look()

    async def _look(self) -> None:
        leases = await self.log.leases()
        await self._window.read(self.log.side, WINDOW)
        self.head = (await self.log.head()).n
        state = self.replica.state
        self.loads = dict(self._window.loads(state).node_loads)
        self.leases = {name: lease.expires_in for name, lease in leases.items()}
        self.trouble = trouble(state, leases)

    @property
    def leads(self) -> bool:
        """Whether somebody holds the leader's lease."""
        left = self.leases.get(LEADER_LEASE, 0.0)
        return left is None or left > 0
