"""A process's own copy of the cluster's state: follows the log, appends decisions, folds back what was appended.

Knows nothing of what is decided. The state is always exactly the fold of the log up to its number.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from events.envelope import Event
from events.errors import LogFault, LogUnavailable, StaleDecision
from events.ids import new_id
from events.log.port import FOREIGN, Checkpoint, EventLog
from haes.live.decision import Decision
from haes.live.follow import position_after
from haes.live.outage import RETRY_INTERVAL, Outage
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.state.restore import restore_state

# Events kept so that a lost tail can be told: more than any server loses that writes its file every second.
RECENT = 2000
# What the log may leave unanswered while it answers readers.
_APPENDS = "appends"


class Replica:
    """The state as one process knows it.

    Attributes:
        log: the log.
        state: the fold.
        outage: whether the log is away.
        recent: the last events that were applied.
        on_event: called with every event right after it was applied.
        lost: events that were applied and are not in the log any more, since its tail was lost; until that is told.
    """

    def __init__(self, log: EventLog, on_event: Callable[[Event], None] | None = None) -> None:
        self.log = log
        self.state = ClusterState()
        self.outage = Outage()
        self.recent: deque[Event] = deque(maxlen=RECENT)
        self.lost: list[Event] = []
        self.on_event = on_event
        self._checkpoint: Checkpoint | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        """The position up to which the log was read."""
        if self._checkpoint is None:
            raise LogUnavailable("the log was not read yet")
        return self._checkpoint

    async def open(self) -> None:
        """Reads the log up to its end."""
        self.state = await restore_state(self.log, lenient=True)
        self._checkpoint = await position_after(self.log, self.state.n)

    async def catch_up(self) -> None:
        """Reads what is new, up to the end of the log.

        Raises:
            LogFault: the log cannot be read on.
        """
        while await self.follow(0.0):
            pass

    async def follow(self, seconds: float) -> int:
        """Waits for news for some seconds, applies them and returns how many there were.

        Two may follow at once: whoever is first applies an event, without waiting in between.

        Raises:
            LogFault: as by `catch_up`.
        """
        events = await self.log.wait(self.checkpoint, seconds, lenient=True)
        for event in events:
            if event.n == self.state.n + 1 or (event.type == FOREIGN and event.subject not in self.state.parked):
                self._apply(event)
        return len(events)

    async def rebuild(self) -> None:
        """Folds the log anew, after its tail was lost, and keeps what is not in it any more."""
        known = list(self.recent)
        await self.open()
        there = {event.id for event in await self._read_recent(known)}
        self.lost += [event for event in known if event.id not in there]
        self.recent.clear()

    async def append(self, decision: Decision) -> None:
        """Appends a decision under its right and applies it; repeats it while its outcome is unknown.

        Raises:
            StaleDecision: the state moved on meanwhile; it is up to date now, decide again.
            Fenced: the right is over, somebody else's, or none to say this. Whether the events were written shows when
                the log is read.
        """
        if not decision.events:
            return
        decision.fit()
        command = new_id()
        expected = decision.expected()
        try:
            while True:
                token = decision.right.check()
                try:
                    await self.log.append(decision.events, token=token, expect=expected, command=command)
                except LogUnavailable as error:
                    self.outage.begin(error, _APPENDS)
                    await asyncio.sleep(RETRY_INTERVAL)
                else:
                    break
        except StaleDecision:
            await self.catch_up()
            raise
        finally:
            # Whoever may not write any more does not wait for it either.
            self.outage.end(_APPENDS)
        await self.catch_up()

    def _apply(self, event: Event) -> None:
        apply_event(self.state, event)
        self._checkpoint = self.checkpoint.after(event)
        self.recent.append(event)
        if self.on_event is not None:
            self.on_event(event)

    async def _read_recent(self, known: list[Event]) -> list[Event]:
        if not known:
            return []
        found: list[Event] = []
        # A fault is met again by whoever reads on; what stands before it is there.
        with suppress(LogFault):
            async for event in self.log.read_all(known[0].n - 1, lenient=True):
                found.append(event)  # noqa: PERF401 - what was found before a fault counts
        return found
