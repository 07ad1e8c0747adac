"""What an agent has read of the cluster's state, reduced to its own node; it outlives the moment it was read."""

from dataclasses import dataclass

from haes.state.cluster import ClusterState
from haes.state.restarts import RELOCATE

# States in which a resource is nobody's work on this node.
_IDLE = frozenset({"stopped", "freeze", "error", "request_start"})


@dataclass(frozen=True, slots=True)
class Order:
    """What the leader wants for one resource on this node.

    Attributes:
        known_running: the leader knows already that the resource runs and has nothing to forget, so that confirming
            it once more would say nothing.
        ended: its end is on record, reported by this agent or by one before it.
        arrived: it is on record that the resource reached the target.
        not_before: it ended by itself and is not started again before this moment, None when nothing is waited for.
        given_up: it ended by itself too often on this node; the leader is to be told.
        retry: number of the restart on this node that a start would be, 0 for a first start.
    """

    resource: str
    state: str
    number: int
    target: str | None
    timeout: int | None
    known_running: bool
    ended: bool = False
    arrived: bool = False
    not_before: float | None = None
    given_up: bool = False
    retry: int = 0


@dataclass(frozen=True, slots=True)
class NodeView:
    """The state from one node's point of view.

    Attributes:
        orders: for every resource on the node, by name.
        active: number of resources that the agent has to look after, here or coming.
        fence: the node is to be fenced.
        maintenance: operators took the node out of service.
        disarm: HA is being taken out of action, or is so.
    """

    orders: tuple[Order, ...] = ()
    active: int = 0
    fence: bool = False
    maintenance: bool = False
    disarm: bool = False


def _in_series(state: ClusterState, resource: str) -> bool:
    """Returns whether nodes that failed stay known for longer than until it runs: it died, and has to be well first."""
    memory = state.services.get(resource)
    return memory is not None and bool(memory.series)


def look(state: ClusterState, node: str) -> NodeView:
    """Returns the view of a node."""
    orders = []
    active = 0
    fence = state.node_state(node) == "fence"
    for resource, record in state.resources.items():
        here = record.node == node
        if not here and record.target != node:
            continue
        if record.state not in _IDLE:
            active += 1
        if here:
            fence |= record.state == "fence"
            memory = None if record.running or record.state != "started" else state.services.get(resource)
            orders.append(
                Order(
                    resource,
                    record.state,
                    record.job,
                    record.target,
                    record.timeout,
                    record.running and (not record.failed_nodes or _in_series(state, resource)),
                    ended=record.result is not None,
                    arrived=record.arrived,
                    not_before=None if memory is None else memory.until,
                    given_up=memory is not None and memory.plan == RELOCATE,
                    retry=0 if memory is None else memory.failures,
                )
            )
    orders.sort(key=lambda order: order.resource)
    return NodeView(tuple(orders), active, fence, node in state.maintenance, state.disarm is not None)
