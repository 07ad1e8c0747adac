"""Taking HA out of action: resources are frozen or ignored, agents let go, the leader waits for all of them."""

from haes.machines import RESOURCE
from haes.machines.resource import MOVING
from haes.manager.context import Round

# States from which disarming freezes a resource; the others are frozen already, or wait for people.
_FREEZABLE = frozenset({"started", "stopped", "request_stop", "request_start", "request_start_balance"})


def deferred_resources(round_: Round) -> set[str]:
    """Returns the resources that disarming must wait for, since only the state machine can bring them to rest."""
    deferred = set()
    for resource in sorted(round_.state.resources):
        state = round_.state.resources[resource].state
        if state in {"fence", "recovery"} or state in MOVING:
            round_.batch.emit("resource.disarm_deferred", resource, about=state, state=state)
            deferred.add(resource)
    return deferred


def progress(round_: Round) -> None:
    """Brings resources to rest and notes when every agent has let go."""
    disarm = round_.state.disarm
    assert disarm is not None  # noqa: S101 - the caller has looked
    if disarm.mode == "freeze":
        _freeze(round_)
    else:
        _forget_plans(round_)
    modes = round_.modes
    let_go = all(modes.get(node, "unknown") == "disarm" for node in round_.state.online_nodes())
    # Once disarmed it stays so: the agent of a node that returns catches up within a round.
    if let_go and disarm.state != "disarmed":
        round_.batch.emit("disarm.completed", "cluster")


def _freeze(round_: Round) -> None:
    for resource in sorted(round_.state.resources):
        previous = round_.state.resources[resource].state
        if previous in _FREEZABLE:
            RESOURCE.decide(previous, "freeze")
            round_.batch.emit("resource.frozen_by_disarm", resource, about=f"was {previous}", previous=previous)


def _forget_plans(round_: Round) -> None:
    for resource in sorted(round_.state.resources):
        record = round_.state.resources[resource]
        if record.failed_nodes or record.request or record.target or record.timeout is not None:
            round_.batch.emit("resource.reset", resource)
