"""What events about resources do to the state: configuration, the record of the state machine, orders and results."""

from collections.abc import Callable, Mapping
from typing import Any

from haes.machines import RESOURCE
from haes.state.cluster import ClusterState
from haes.state.records import ResourceConfiguration, ResourceRecord, name_in
from haes.state.restarts import ServiceMemory

Payload = Mapping[str, Any]
Handler = Callable[[ClusterState, str, Payload, float], None]

# Configuration values whose change may change what the driver says about a motion.
_ABOUT_NEEDS = "needs"


def configured(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.configured`: sets values of a configuration, which begins to exist with its node."""
    changes = payload["changes"]
    if "node" in changes:
        name_in(changes["node"])
    if subject in state.configurations:
        configuration = state.configuration(subject)
    else:
        configuration = state.configurations[subject] = ResourceConfiguration(node=changes["node"])
    for name, value in changes.items():
        setattr(configuration, name, value)
    for name in payload.get("unset", ()):
        setattr(configuration, name, ResourceConfiguration.__dataclass_fields__[name].default)
    if _ABOUT_NEEDS in changes:
        state.balance.forget_answers(resource=subject)


def unconfigured(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`resource.unconfigured`: the balancer forgets what it knew about it; where it may run is kept in mind."""
    configuration, record = state.configurations.pop(subject, None), state.resources.get(subject)
    if record is not None:
        if record.state != "stopped":
            state.may_run(subject, record.node, record.target)
    elif configuration is not None:
        state.may_run(subject, configuration.node)
    state.balance.forget_resource(subject)
    state.services.pop(subject, None)


def added(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.added`: job numbers go on where an earlier record left off, so that no report fits two orders."""
    state.resources[subject] = ResourceRecord(
        state=name_in(payload["state"]), node=name_in(payload["node"]), job=state.versions.get(subject, 0)
    )


def removed(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`resource.removed`."""
    state.resources.pop(subject, None)


def entering(new_state: str) -> Handler:
    """Returns the handler of `resource.<state>`: what belonged to the old state ends, the agent gets a new order."""
    # A quarter of all events come by here, so what can be looked up beforehand is.
    before = RESOURCE.states_before(new_state)

    def entered(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
        record, value = state.record(subject), payload.get
        if record.state not in before:
            raise RESOURCE.illegal(record.state, new_state)
        node, target = value("node", record.node), value("target")
        if node.__class__ is not str or (target is not None and target.__class__ is not str):
            name_in(node)
            name_in(target)
        record.state = new_state
        record.node = node
        record.target = target
        record.timeout = value("timeout")
        record.origin = value("origin")
        record.request = None
        record.running = False
        record.result = None
        record.arrived = False
        record.trouble = None
        record.node_trouble = False
        record.job += 1

    return entered


def frozen_by_disarm(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`resource.frozen_by_disarm`."""
    record = state.record(subject)
    record.state = RESOURCE.apply(record.state, "freeze")
    record.failed_nodes = None
    record.target = None
    record.timeout = None
    _fresh_order(record)


def reset(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`resource.reset`: only state, node, order, its confirmation and the way back from maintenance stay."""
    record = state.record(subject)
    record.failed_nodes = None
    record.target = None
    record.timeout = None
    record.request = None


def _fresh_order(record: ResourceRecord) -> None:
    record.request = None
    record.running = False
    record.result = None
    record.arrived = False
    record.job += 1


def moved_by_hand(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.moved_while_disarmed`, `resource.location_fixed`."""
    state.record(subject).node = name_in(payload["node"])


def motion_queued(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.motion_queued`."""
    state.commands.pop(payload.get("command") or 0, None)
    state.record(subject).request = (name_in(payload["verb"]), name_in(payload["target"]), name_in(payload["origin"]))


def stop_queued(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.stop_queued`."""
    state.commands.pop(payload["command"], None)
    state.record(subject).request = ("stop", payload["timeout"], f"command/{payload['command']}")


def request_dropped(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`resource.request_dropped`."""
    state.record(subject).request = None


def confirmed(state: ClusterState, subject: str, _payload: Payload, at: float) -> None:
    """`resource.confirmed`: it runs; nodes where its start failed are forgotten, or later if it died after a start."""
    record = state.record(subject)
    record.running = True
    memory = state.services.get(subject)
    if memory is not None:
        state.services[subject] = memory.after_start(at)
    if memory is None or not memory.series:
        record.failed_nodes = None
    record.result = None
    record.job += 1


def start_failed(state: ClusterState, subject: str, _payload: Payload, at: float) -> None:
    """`resource.start_failed`: its node counts as tried."""
    record = state.record(subject)
    record.running = False
    record.failed_nodes = [*(record.failed_nodes or ()), record.node]
    record.result = None
    record.job += 1
    memory = state.services.get(subject)
    if memory is not None:
        state.services[subject] = memory.after_action(at)


def recovered(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.recovered`: it belongs to another node now, in fact and in configuration."""
    state.record(subject).node = name_in(payload["node"])
    state.configuration(subject).node = payload["node"]


def unlocked(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`resource.unlocked`."""
    state.configuration(subject).lock = None


def maintenance_noted(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.maintenance_noted`."""
    state.record(subject).maintenance_node = name_in(payload["node"])


def maintenance_ended(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`resource.maintenance_ended`."""
    state.record(subject).maintenance_node = None


_entered_stopped = entering("stopped")


def failures_cleared(state: ClusterState, subject: str, payload: Payload, at: float) -> None:
    """`resource.stopped`: leaving error or recovery for stopped forgets where starts failed.

    Nobody stopped what was in error: where it belongs it is found running, but elsewhere it may run on.
    """
    record, configuration = state.record(subject), state.configurations.get(subject)
    if payload["previous"] == "error" and configuration is not None and configuration.node != record.node:
        state.may_run(subject, record.node)
    if payload["previous"] in {"error", "recovery"}:
        record.failed_nodes = None
    _forget_series(state, subject)
    _entered_stopped(state, subject, payload, at)


def stray_stopped(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.stray_stopped`."""
    state.is_clear(payload["node"], of=subject)


def job_moved(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`job.moved`: the fact is recorded where it happens, by the agent that moved the resource."""
    target = payload["target"]
    if subject in state.configurations:
        state.configuration(subject).node = target
    record = state.resources.get(subject)
    if record is not None and record.target == target:
        state.record(subject).arrived = True


def move_failed(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`job.move_failed`: why, where the agent knows it."""
    if payload.get("because") and subject in state.resources:
        record = state.record(subject)
        record.trouble, record.node_trouble = payload["because"], bool(payload.get("whole_node"))


def found(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`resource.found`: it is where its agent sees it run; an order for where it was thought to be is void."""
    node = payload["node"]
    if subject in state.configurations:
        state.configuration(subject).node = node
    if subject in state.resources:
        record = state.record(subject)
        record.node, record.running, record.result = node, True, None
        record.job += 1


def job_done(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`job.done`: the first end of an order counts; a report about one that was replaced meanwhile says nothing."""
    record = state.resources.get(subject)
    if record is not None and record.job == payload["job"] and record.result is None:
        state.record(subject).result = payload["exit_code"]


def service_died(state: ClusterState, subject: str, payload: Payload, at: float) -> None:
    """`service.died`: it does not run until it is started again; a run dies once, however often that is reported."""
    memory = state.services.get(subject, ServiceMemory())
    if memory.run == payload["run"]:
        return
    state.services[subject] = memory.after_death(payload, at)
    record = state.resources.get(subject)
    if record is not None and record.node == payload["node"] and record.state == "started":
        # What was reported of the start that led to this run is out of date; the next start is a new order.
        record = state.record(subject)
        record.running = False
        record.result = None
        record.job += 1


def _forget_series(state: ClusterState, subject: str) -> None:
    memory = state.services.get(subject)
    if memory is not None:
        state.services[subject] = memory.forgotten()


def service_healthy(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`service.healthy`: its series is over, and so are the nodes on which it failed."""
    _forget_series(state, subject)
    if subject in state.resources:
        state.record(subject).failed_nodes = None


def service_retried(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`service.retried`: as if it had never died."""
    state.commands.pop(payload["command"], None)
    _forget_series(state, subject)
    if subject in state.resources:
        state.record(subject).failed_nodes = None


RESOURCE_HANDLERS: dict[str, Handler] = {
    "resource.configured": configured,
    "resource.unconfigured": unconfigured,
    "resource.added": added,
    "resource.removed": removed,
    **{f"resource.{new_state}": entering(new_state) for new_state in RESOURCE.states},
    "resource.stopped": failures_cleared,
    "resource.frozen_by_disarm": frozen_by_disarm,
    "resource.reset": reset,
    "resource.moved_while_disarmed": moved_by_hand,
    "resource.location_fixed": moved_by_hand,
    "resource.motion_queued": motion_queued,
    "resource.stop_queued": stop_queued,
    "resource.request_dropped": request_dropped,
    "resource.confirmed": confirmed,
    "resource.start_failed": start_failed,
    "resource.recovered": recovered,
    "resource.unlocked": unlocked,
    "resource.maintenance_noted": maintenance_noted,
    "resource.maintenance_ended": maintenance_ended,
    "resource.stray_stopped": stray_stopped,
    "resource.found": found,
    "job.moved": job_moved,
    "job.done": job_done,
    "job.move_failed": move_failed,
    "service.died": service_died,
    "service.healthy": service_healthy,
    "service.retried": service_retried,
}
