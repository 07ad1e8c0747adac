"""What the cluster knows of one resource, agent or command; plain records, no rules."""

from dataclasses import dataclass, field, replace
from typing import Any

from haes.exit_codes import SUCCESS

# What a resource's configuration may hold, besides what a motion needs of its target.
CONFIGURATION_DEFAULTS: dict[str, Any] = {
    "state": "disabled",
    "failback": True,
    "max_restart": 1,
    "max_relocate": 1,
}


def name_in(value: Any) -> str:
    """Returns a name that an event carries.

    Raises:
        TypeError: it is none; whoever looks it up would fail, far from what is wrong.
    """
    if value.__class__ is not str:
        raise TypeError(f"{value!r:.80} is no name")
    return str(value)


@dataclass(slots=True)
class ResourceConfiguration:
    """What people ask of a resource, and where it is.

    Attributes:
        node: where the resource is registered; a motion changes it, and so does a recovery.
        state: the requested state: started, stopped, disabled or ignored.
        failback: whether the resource goes back to its preferred node when that returns.
        max_restart: start tries on one node after the first.
        max_relocate: nodes tried after the first.
        group: old-style group, or None.
        lock: why the resource may not be touched, or None.
        auto_rebalance: whether the balancer may move it.
        needs: what a node must offer for the resource to move there, and what ties it to its node.
        on_store_loss: whether the resource stops when its node cannot reach the log for a term (stop), or goes on and
            is recovered elsewhere only after its node was fenced (keep).
        service: what the driver needs to run it.
        limits: what it may use at most: `cpus`, `memory` in bytes.
    """

    node: str
    state: str = "disabled"
    failback: bool = True
    max_restart: int = 1
    max_relocate: int = 1
    group: str | None = None
    lock: str | None = None
    auto_rebalance: bool = True
    needs: dict[str, Any] = field(default_factory=dict)
    on_store_loss: str = "stop"
    service: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> "ResourceConfiguration":
        """Returns an independent copy."""
        return replace(self)


@dataclass(slots=True)
class ResourceRecord:
    """What the leader keeps of a resource that it looks after.

    Attributes:
        state: state of the resource's machine.
        node: where the resource is.
        target: where it is going, in the states that have a target.
        timeout: seconds that a stop may take, where one was asked for.
        request: a queued (`migrate`|`relocate`, target, origin) or (`stop`, timeout, origin).
        origin: what the present motion or stop goes back to (`command/17`, `motion/4`), or None.
        failed_nodes: nodes on which its start failed, in order; None before the first failure.
        maintenance_node: the node that it left for maintenance.
        running: the agent has confirmed that it runs; only in state started.
        job: number of the job that the agent is to do; grows with every order.
        result: exit code with which that job first ended, once reported and until the leader has used it.
        arrived: the agent has recorded that the resource reached the target of that job.
        trouble: why its motion failed, where the agent knows; None otherwise.
        node_trouble: the reason holds for every resource that would go to that target.
    """

    state: str
    node: str
    target: str | None = None
    timeout: int | None = None
    request: tuple[str, Any, str] | None = None
    origin: str | None = None
    failed_nodes: list[str] | None = None
    maintenance_node: str | None = None
    running: bool = False
    job: int = 1
    result: int | None = None
    arrived: bool = False
    trouble: str | None = None
    node_trouble: bool = False

    @property
    def outcome(self) -> int | None:
        """How the job ended, None before its end: what arrived did so, whatever was reported after that."""
        return SUCCESS if self.arrived and self.result is not None else self.result

    def copy(self) -> "ResourceRecord":
        """Returns an independent copy."""
        failed = self.failed_nodes
        return replace(self, failed_nodes=None if failed is None else list(failed))


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """What an agent last reported of itself: the state of its machine and its mode.

    The mode is active, maintenance, disarm, restart (leaves, freezes) or shutdown (leaves, stops).
    """

    state: str
    mode: str


@dataclass(frozen=True, slots=True)
class Command:
    """What an operator asked for and the leader has not yet looked at."""

    id: int
    verb: str
    arguments: tuple[str, ...]
    text: str
    user: str


@dataclass(frozen=True, slots=True)
class Disarm:
    """HA is being taken out of action (disarming) or is so (disarmed); mode: freeze or ignore."""

    mode: str
    state: str


@dataclass(frozen=True, slots=True)
class Parked:
    """A subject whose events are no longer applied, since one of them could not be.

    Attributes:
        n: number of that event; for an entry that is no event, of the one before it.
        reason: why.
        newer: it is of a type or version that this program does not know.
    """

    n: int
    reason: str
    newer: bool = False
