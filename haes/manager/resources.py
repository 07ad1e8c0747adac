"""What becomes of each resource in a round: one function for each state of its machine."""

from collections.abc import Callable
from typing import Any

from haes.configuration.restarts import policy_of
from haes.exit_codes import ERROR, IGNORED, SUCCESS, WRONG_NODE
from haes.machines import RESOURCE
from haes.manager import nodes
from haes.manager.context import Round
from haes.manager.loads import update_usage
from haes.manager.motion_memory import remember_deaths
from haes.manager.placement import Preference, select_node
from haes.state.records import ResourceConfiguration, ResourceRecord
from haes.state.restarts import describe_series

# Locks that do not outlive the node that held them.
REMOVABLE_LOCKS = (
    "backup",
    "mounted",
    "migrate",
    "clone",
    "rollback",
    "snapshot",
    "snapshot-delete",
    "suspending",
    "suspended",
)


def enter(round_: Round, resource: str, state: str, *, cause: str | None = None, **details: Any) -> None:
    """Brings a resource into another state: asks the machine, records the change, moves the load.

    Raises:
        IllegalTransition: the machine has no such change.
    """
    record = round_.state.resources[resource]
    previous = record.state
    RESOURCE.decide(previous, state)
    about = f"was {previous}" + (f", to {details['target']}" if details.get("target") else "")
    round_.batch.emit(
        f"resource.{state}",
        resource,
        about=about,
        cause=cause or f"job/{resource}/{record.job}",
        previous=previous,
        **details,
    )
    update_usage(round_, resource)


def step(round_: Round, resource: str, *, after: Callable[[], None] | None = None) -> bool:
    """Lets one resource take one step; returns whether its state changed.

    Args:
        round_: the round.
        resource: the resource.
        after: called right after the step, before an agent that restarts freezes the resource.
    """
    state = round_.state
    record = state.resources[resource]
    before = record.state
    configuration = state.configurations.get(resource)
    if configuration is None:
        configuration = ResourceConfiguration(node=record.node)
    _STEPS[before](round_, resource, record, configuration)
    if after is not None:
        after()
    record = state.resources[resource]
    if round_.modes.get(record.node) == "restart" and record.state in {"started", "stopped", "request_stop"}:
        enter(round_, resource, "freeze")
    return state.resources[resource].state != before


def _requested(configuration: ResourceConfiguration) -> str:
    return "started" if configuration.state == "started" else "request_stop"


def _stopped(round_: Round, resource: str, record: ResourceRecord, configuration: ResourceConfiguration) -> None:
    if record.node != configuration.node:
        # A node that was fenced in the middle of a motion leaves this behind.
        round_.batch.emit("resource.location_fixed", resource, previous=record.node, node=configuration.node)
        record = round_.state.resources[resource]
    if round_.state.leftovers.get(resource, frozenset()) - {record.node}:
        # Nothing is started, here or elsewhere, before its agent has made sure that it does not run where it was.
        return
    if record.request is not None:
        verb, argument, origin = record.request
        if verb == "stop":
            reason = "already_stopped"
        elif round_.state.node_state(argument) != "online":
            reason = "target_not_online"
        elif record.node == argument:
            reason = "already_there"
        else:
            enter(round_, resource, verb, cause=origin, node=record.node, target=argument, origin=origin)
            return
        target = None if verb == "stop" else argument
        round_.batch.emit("resource.request_dropped", resource, verb=verb, reason=reason, target=target)
        record = round_.state.resources[resource]
    if configuration.state == "disabled":
        return
    if nodes.is_offline_delayed(round_, record.node) and round_.state.node_state(record.node) != "maintenance":
        enter(round_, resource, "fence")
    elif configuration.state == "started":
        # On the wrong node or not: once it counts as started it is moved where it belongs.
        enter(round_, resource, "request_start", node=record.node)
    elif configuration.state != "stopped":
        round_.batch.emit("resource.state_unknown", resource, state=configuration.state)


def _request_start(round_: Round, resource: str, record: ResourceRecord, _configuration: ResourceConfiguration) -> None:
    if not round_.crs("ha-rebalance-on-start"):
        enter(round_, resource, "started", node=record.node)
        return
    selected = select_node(round_, resource, "best-score")
    if selected == record.node:
        enter(round_, resource, "started", node=record.node, because="rebalance")
    else:
        enter(round_, resource, "request_start_balance", node=record.node, target=selected, because="rebalance")


def _moving(round_: Round, resource: str, record: ResourceRecord, configuration: ResourceConfiguration) -> None:
    exit_code = outcome(round_, record)
    if exit_code is not None:
        requested = _requested(configuration)
        if exit_code == SUCCESS:
            enter(round_, resource, requested, node=record.target)
            return
        if exit_code == WRONG_NODE:
            round_.batch.emit("resource.motion_failed", resource, exit_code=exit_code)
            enter(round_, resource, "error")
        elif exit_code == IGNORED:
            round_.batch.emit("resource.start_balance_ignored", resource)
            enter(round_, resource, requested, node=record.node)
        else:
            round_.batch.emit("resource.motion_failed", resource, about=f"exit code {exit_code}", exit_code=exit_code)
            enter(round_, resource, requested, node=record.node)
            return
    _fence_when_gone(round_, resource)


def outcome(round_: Round, record: ResourceRecord) -> int | None:
    """Returns how a job ended, None while it is under way.

    What arrived has done so even when the node that it left is lost before it can say that the job is done: fencing it
    and starting the resource elsewhere would start it twice.
    """
    if record.arrived and record.result is None and nodes.is_offline_delayed(round_, record.node):
        return SUCCESS
    return record.outcome


def _fence_when_gone(round_: Round, resource: str) -> None:
    if nodes.is_offline_delayed(round_, round_.state.resources[resource].node):
        enter(round_, resource, "fence")


def _request_stop(round_: Round, resource: str, record: ResourceRecord, _configuration: ResourceConfiguration) -> None:
    if record.result == SUCCESS:
        enter(round_, resource, "stopped")
    elif record.result is not None:
        round_.batch.emit("resource.stop_failed", resource, about=f"exit code {record.result}", exit_code=record.result)
        enter(round_, resource, "error")
    else:
        _fence_when_gone(round_, resource)


def _fence(_round: Round, _resource: str, _record: ResourceRecord, _configuration: ResourceConfiguration) -> None:
    """Waits until the node is proven to run nothing."""


def _freeze(round_: Round, resource: str, record: ResourceRecord, configuration: ResourceConfiguration) -> None:
    if round_.modes.get(record.node) == "active":
        enter(round_, resource, _requested(configuration))


def _error(round_: Round, resource: str, _record: ResourceRecord, configuration: ResourceConfiguration) -> None:
    if configuration.state == "disabled":
        enter(round_, resource, "stopped")


def _recovery(round_: Round, resource: str, record: ResourceRecord, configuration: ResourceConfiguration) -> None:
    fenced = record.node
    node = select_node(round_, resource, "best-score")
    if node is None:
        # Tried again every round: making the resource available is the whole point.
        round_.batch.emit("resource.recovery_failed", resource, node=fenced)
        if configuration.state == "disabled":
            enter(round_, resource, "stopped")
        return
    lock = configuration.lock if configuration.lock in REMOVABLE_LOCKS else None
    round_.batch.emit("resource.recovered", resource, about=f"{fenced} to {node}", previous=fenced, node=node)
    if lock is not None:
        round_.batch.emit("resource.unlocked", resource, lock=lock)
    enter(round_, resource, _requested(configuration), node=node)


def _started(round_: Round, resource: str, record: ResourceRecord, configuration: ResourceConfiguration) -> None:
    state = round_.state
    if state.node_state(record.node) != "online":
        if nodes.is_offline_delayed(round_, record.node):
            enter(round_, resource, "fence")
        if state.node_state(record.node) != "maintenance":
            return
        if state.resources[resource].maintenance_node != record.node:
            round_.batch.emit("resource.maintenance_noted", resource, node=record.node)
    if configuration.state in {"disabled", "stopped"}:
        enter(round_, resource, "request_stop")
    elif configuration.state != "started":
        round_.batch.emit("resource.state_unknown", resource, state=configuration.state)
    elif state.resources[resource].request is not None:
        _serve_request(round_, resource, state.resources[resource])
    else:
        _keep_running(round_, resource, configuration)


def _serve_request(round_: Round, resource: str, record: ResourceRecord) -> None:
    assert record.request is not None  # noqa: S101 - the caller has looked
    verb, argument, origin = record.request
    if verb == "stop":
        enter(round_, resource, "request_stop", cause=origin, timeout=argument, because="command", origin=origin)
        round_.batch.emit("resource.configured", resource, changes={"state": "stopped"})
    elif round_.state.node_state(argument) != "online":
        _drop(round_, resource, verb, "target_not_online", argument)
    elif record.node == argument:
        _drop(round_, resource, verb, "already_there", argument)
    else:
        enter(
            round_,
            resource,
            verb,
            cause=origin,
            node=record.node,
            target=argument,
            because="command",
            origin=origin,
        )


def _drop(round_: Round, resource: str, verb: str, reason: str, target: str) -> None:
    round_.batch.emit("resource.request_dropped", resource, about=reason, verb=verb, reason=reason, target=target)


def _keep_running(round_: Round, resource: str, configuration: ResourceConfiguration) -> None:
    """Uses the agent's report, if there is one, and moves the resource if it belongs elsewhere."""
    preference: Preference = "none"
    _note_health(round_, resource)
    record = round_.state.resources[resource]
    if record.result is not None:
        if record.result == SUCCESS:
            failed_nodes = record.failed_nodes or []
            round_.batch.emit("resource.confirmed", resource, node=record.node, failed_nodes=failed_nodes)
        elif record.result in {ERROR, WRONG_NODE}:
            tries_left = len(record.failed_nodes or ()) + 1 <= configuration.max_relocate
            _start_failed(round_, resource, record, "relocate" if tries_left else "give_up")
            if not tries_left:
                enter(round_, resource, "error", **_reason(round_, resource))
                return
            preference = "try-next"
        else:
            _start_failed(round_, resource, record, "error")
            enter(round_, resource, "error")
            return
    node = select_node(round_, resource, preference)
    record = round_.state.resources[resource]
    if node is not None and node != record.node:
        _move(round_, resource, record, node)
        return
    if preference == "try-next" and node is None:
        round_.batch.emit("resource.start_retried", resource, failed_nodes=record.failed_nodes or [])
    if record.maintenance_node == record.node and round_.state.node_state(record.node) == "online":
        # It never ran elsewhere meanwhile: the whole cluster was shut down at once, for example.
        round_.batch.emit("resource.maintenance_ended", resource, node=record.node, how="stale")


def _note_health(round_: Round, resource: str) -> None:
    """Forgets the deaths of a service that has been well for long enough."""
    memory = round_.state.services.get(resource)
    if memory is None or not memory.series or memory.up_since is None or not round_.state.resources[resource].running:
        return
    if round_.inputs.at - memory.up_since >= policy_of(round_.state, resource).healthy:
        round_.batch.emit("service.healthy", resource, about=f"after {memory.series} deaths", deaths=memory.series)


def _reason(round_: Round, resource: str) -> dict[str, str]:
    """Returns why a service is in error, where its deaths say so: how, how often, where."""
    memory = round_.state.services.get(resource)
    if memory is None or not memory.in_series():
        return {}
    return {"because": describe_series(memory)}


def _start_failed(round_: Round, resource: str, record: ResourceRecord, plan: str) -> None:
    remember_deaths(round_, resource)
    round_.batch.emit(
        "resource.start_failed",
        resource,
        about=f"exit code {record.result}",
        exit_code=record.result,
        plan=plan,
        node=record.node,
        failed_nodes=[*(record.failed_nodes or ()), record.node],
    )


def _move(round_: Round, resource: str, record: ResourceRecord, node: str) -> None:
    fallback = record.maintenance_node
    if fallback is not None:
        if node == fallback:
            round_.batch.emit("resource.maintenance_ended", resource, node=fallback, how="returns")
        elif record.node != fallback:
            round_.batch.emit("resource.maintenance_ended", resource, node=fallback, how="dropped")
    verb = "migrate" if resource.startswith("vm:") else "relocate"
    enter(round_, resource, verb, node=record.node, target=node, because="placement")


_STEPS: dict[str, Callable[[Round, str, ResourceRecord, ResourceConfiguration], None]] = {
    "stopped": _stopped,
    "started": _started,
    "request_start": _request_start,
    "request_start_balance": _moving,
    "migrate": _moving,
    "relocate": _moving,
    "fence": _fence,
    "recovery": _recovery,
    "request_stop": _request_stop,
    "freeze": _freeze,
    "error": _error,
}
