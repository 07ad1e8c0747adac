"""What must hold at every moment of a simulation, looked at while it runs; changes nothing."""

from typing import TYPE_CHECKING

from events.envelope import Event
from events.log.port import Token
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from tests.cluster_simulator.server import at_once

if TYPE_CHECKING:
    from tests.cluster_simulator.cluster import Cluster

# What a manager may say of itself under its own lease; everything else that it says is a leader's.
OWN = ("manager.", "member.announced")
# Whoever comes first puts the cluster's beginning on record, under this lease.
SEED = "operator"
# Callbacks of one process in a second, beyond which it spins: a busy round of a small cluster takes some hundred.
BUSY = 3000
# Warnings of one process in a minute, beyond which it does not say things once.
CHATTY = 60


class Watch:
    """Follows everything that is appended.

    Attributes:
        state: the fold of the log from zero.
        events: the log from its first event on, whether trimmed or not.
    """

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self.state = ClusterState()
        self.events: list[Event] = []
        self._epochs: dict[tuple[int, str], int] = {}
        self._steps: dict[int, tuple[int, float]] = {}
        self._twice = 0
        # Node -> when something happened to it last that may lead to its fencing.
        self.disturbed: dict[str, float] = {}
        self._compared: dict[int, int] = {}

    def appended(self, token: Token, before: int, after: int) -> None:
        """Looks at what was written just now."""
        log = self._cluster.server.log
        for event in at_once(log.read(before, count=after - before, lenient=True)):
            self._cluster.say(f"{event.n} {event.type} {event.subject} {event.about}", event.by)
            self._look_at_token(event, token)
            if event.type == "node.fence":
                self._look_at_fencing(event)
            if event.n == self.state.n + 1:
                self.events.append(event)
                apply_event(self.state, event)

    def _look_at_token(self, event: Event, token: Token) -> None:
        node, _, part = event.by.partition("/")
        if token.lease == SEED:
            return
        if part == "crm" and not event.type.startswith(OWN) and token.lease != "leader":
            self._cluster.wrong(f"event {event.n} {event.type} of {event.by} was written under '{token.lease}'")
        if part == "lrm" and token.lease != f"agent/{node}":
            self._cluster.wrong(f"event {event.n} {event.type} of {event.by} was written under '{token.lease}'")
        key = (token.generation, token.lease)
        if token.epoch < self._epochs.get(key, 0):
            self._cluster.wrong(f"event {event.n} has epoch {token.epoch} of '{token.lease}' after a higher one")
        self._epochs[key] = max(token.epoch, self._epochs.get(key, 0))

    def _look_at_fencing(self, event: Event) -> None:
        """A node is fenced for a cause: something happened to it, or to all, not long before."""
        intervals = self._cluster.intervals
        recent = intervals.agent_lease + intervals.fence_delay + 3 * intervals.round + 10.0
        if self._cluster.loop.time() - self.disturbed.get(event.subject, 0.0) > recent:
            self._cluster.wrong(f"{event.subject} is fenced without a cause (event {event.n})")

    def rang(self, node: str, doomed: list[str]) -> None:
        """A keeper that was not fed killed services: for a cause, too."""
        undisturbed = self._cluster.loop.time() - self.disturbed.get(node, 0.0)
        if doomed and undisturbed > self._cluster.intervals.agent_lease / 2:
            self._cluster.wrong(
                f"services of {node} are killed although nothing happened to it for {undisturbed:.0f} s"
            )

    def begin_again(self) -> None:
        """The log lost its tail: folds what is left of it from zero."""
        head = at_once(self._cluster.server.log.head())
        del self.events[head.n :]
        self.state = self.whole()

    def whole(self) -> ClusterState:
        """Returns the fold from zero."""
        state = ClusterState()
        for event in self.events:
            apply_event(state, event)
        return state

    def look(self) -> None:
        """Looks at everything that can be looked at any time."""
        cluster = self._cluster
        for found in cluster.truth.violations[self._twice :]:
            cluster.wrong(found)
        self._twice = len(cluster.truth.violations)
        now = cluster.loop.time()
        expected = None
        for member in list(cluster.members.values()):
            state = member.worker.replica.state
            if state.n == self.state.n and self._compared.get(id(member)) != state.n:
                self._compared[id(member)] = state.n
                expected = expected or self.state.to_data()
                if state.to_data() != expected and self._same_log(member):
                    cluster.wrong(f"{member.name} believes something else than the log says at event {state.n}")
            steps, since = self._steps.get(id(member.process), (0, now))
            if now - since >= 1.0:
                rate = (member.process.steps - steps) / (now - since)
                if rate > BUSY:
                    cluster.wrong(f"{member.name} spins: {rate:.0f} callbacks a second")
            self._steps[id(member.process)] = (member.process.steps, now)

    def _same_log(self, member: object) -> bool:
        """Returns whether a process has the present log, not one that lost its tail since."""
        position = member.worker.replica._checkpoint  # type: ignore[attr-defined]
        head = self._cluster.server.log._head
        return position is not None and head is not None and position.id == head.last_id
