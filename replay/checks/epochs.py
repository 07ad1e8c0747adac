"""Nobody writes with a right that somebody else has meanwhile: epochs never fall."""

from events.envelope import Event
from haes.machines import NODE, RESOURCE
from haes.state.cluster import ClusterState
from replay.checks.check import Check

# What only a leader decides; who reports facts or asks for something has another lease.
_DECISIONS = frozenset(
    {
        "rules.applied",
        "cluster.membership",
        "resource.added",
        "resource.removed",
        "resource.motion_queued",
        "resource.stop_queued",
        "resource.motion_failed",
        "resource.recovered",
        "resource.confirmed",
        "node.fenced",
        *(f"resource.{state}" for state in RESOURCE.states),
        *(f"node.{state}" for state in NODE.states),
    }
)


class Epochs(Check):
    """Each election raises the leader's epoch; decisions carry no lower one, and neither do an agent's reports."""

    name = "epochs"

    def __init__(self) -> None:
        super().__init__()
        self._leader = 0
        self._agents: dict[str, int] = {}

    def after(self, event: Event, state: ClusterState) -> None:
        """See Check."""
        if event.type == "leader.elected":
            if event.epoch <= self._leader:
                self.wrong(event, f"a leader was elected with epoch {event.epoch} after {self._leader}")
            self._leader = max(self._leader, event.epoch)
        elif event.late:
            return
        elif event.type in _DECISIONS or event.type.startswith("balance."):
            if event.epoch < self._leader:
                self.wrong(
                    event, f"{event.by} decided with epoch {event.epoch} while {state.leader} led with {self._leader}"
                )
        elif event.type.startswith("job."):
            known = self._agents.get(event.by, 0)
            if event.epoch < known:
                self.wrong(event, f"{event.by} reported with epoch {event.epoch} after {known}")
            self._agents[event.by] = max(known, event.epoch)

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - see Check
        """See Check."""
        return "every leader's epoch is higher than the one before, and no deposed writer wrote"
