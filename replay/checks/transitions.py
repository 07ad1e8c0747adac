"""Every change of state is one that the state machines allow, and leaves the state that it says it leaves."""

from events.envelope import Event
from haes.machines import NODE, RESOURCE
from haes.state.cluster import ClusterState
from replay.checks.check import Check

_RESOURCE_TYPES = frozenset({"resource.frozen_by_disarm", *(f"resource.{state}" for state in RESOURCE.states)})
_NODE_TYPES = frozenset(f"node.{state}" for state in NODE.states)


class Transitions(Check):
    """Folds; an event that the machines do not allow parks its subject."""

    name = "transitions"

    def __init__(self) -> None:
        super().__init__()
        self._was: str | None = None
        self._parked: set[str] = set()

    def begin(self, state: ClusterState) -> None:
        """See Check."""
        self._parked = set(state.parked)

    def before(self, event: Event, state: ClusterState) -> None:
        """See Check."""
        self._was = None
        if event.late or event.subject in state.parked:
            return
        if event.type in _RESOURCE_TYPES and event.subject in state.resources:
            self._was = state.resources[event.subject].state
        elif event.type in _NODE_TYPES:
            self._was = state.node_state(event.subject)

    def after(self, event: Event, state: ClusterState) -> None:
        """See Check."""
        if event.subject in state.parked and event.subject not in self._parked:
            self.wrong(event, f"{event.subject}: {state.parked[event.subject].reason}")
        elif self._was is not None and event.payload.get("previous") != self._was:
            self.wrong(
                event, f"{event.subject}: says that it was '{event.payload.get('previous')}', but it was '{self._was}'"
            )
        self._parked = set(state.parked)

    def end(self, state: ClusterState) -> str:
        """See Check."""
        return "every change of state is legal" + ("" if state.parked else "; nothing is parked")
