"""After the log lost its tail: what runs here although the record puts it elsewhere, and when starting is safe again.

Reality wins over a record that is older than it: what an agent finds running stays, and is put on record. Until the
agents of all other nodes have said so of theirs, nothing is started anew: it may be running there.
"""

from collections.abc import Collection, Iterable

from events.envelope import Event
from haes.clock import boottime
from haes.state.cluster import ClusterState

# In this state a service is to be where the record says; in all others something is on its way that goes on by itself.
_SETTLED = "started"


def found_here(state: ClusterState, node: str, services: Iterable[str]) -> list[str]:
    """Returns the services that are to run, run here, and are on record elsewhere."""
    found = []
    for name in sorted(services):
        configuration, record = state.configurations.get(name), state.resources.get(name)
        if configuration is None or configuration.state != "started":
            continue
        if record is None:
            if configuration.node != node:
                found.append(name)
        elif record.node != node and record.state == _SETTLED:
            found.append(name)
    return found


def comes_here(state: ClusterState, node: str, services: Iterable[str]) -> set[str]:
    """Returns the services whose motion to this node is on record as being on its way, and which are here already."""
    targets = {name: record.target for name, record in state.resources.items()}
    return {name for name in services if targets.get(name) == node}


class Unheard:
    """The nodes that may run what the record knows nothing of."""

    def __init__(self) -> None:
        self._nodes: set[str] = set()
        self._until = 0.0

    def begin(self, nodes: Collection[str], seconds: float) -> None:
        """Waits for the agents of some nodes; one that says nothing for so long has lost its services."""
        self._nodes = set(nodes)
        self._until = boottime() + seconds

    def see(self, event: Event) -> None:
        """Takes an agent's word into account."""
        if event.type == "agent.connected":
            self._nodes.discard(event.subject)

    def holds_off(self) -> bool:
        """Returns whether anything may run elsewhere of which nothing was heard."""
        return bool(self._nodes) and boottime() < self._until
