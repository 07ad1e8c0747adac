"""A whole state as bytes and back, for snapshots; knows nothing of where they are kept.

The bytes carry a fingerprint of every record's fields: a program whose records differ does not read them, because a
snapshot can always be made again from the stream.
"""

from collections.abc import Sequence
from dataclasses import fields
from hashlib import sha256
from operator import attrgetter
from typing import Any

import msgpack

from haes.balancer.memory import BalanceMemory, Failure, Impossible, Motion, NodeTrouble, PlanUnderWay
from haes.state.cluster import ClusterState
from haes.state.records import AgentRecord, Command, Disarm, Parked, ResourceConfiguration, ResourceRecord
from haes.state.restarts import Death, ServiceMemory

_PLAIN = (
    "n",
    "at",
    "epoch",
    "name",
    "leader",
    "program",
    "policy_version",
    "scheduler",
    "settings",
    "rules_text",
    "groups_text",
    "rules_applied",
    "rules_nodes",
    "groups_rounds_left",
    "command_count",
    "nodes",
    "last_online",
    "managers",
    "accepted_log",
    "lost_events",
    "announced",
    "requests",
    "request_keys",
    "archived",
    "versions",
)
_SETS = ("members", "present", "maintenance", "fence_confirmed")
_RECORDS: dict[str, type] = {
    "resources": ResourceRecord,
    "configurations": ResourceConfiguration,
    "agents": AgentRecord,
    "commands": Command,
    "parked": Parked,
}
_PARTS = (
    ResourceRecord,
    ResourceConfiguration,
    AgentRecord,
    Command,
    Disarm,
    Parked,
    BalanceMemory,
    Failure,
    Impossible,
    NodeTrouble,
    ServiceMemory,
    Death,
)


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


FINGERPRINT = sha256(
    repr((ClusterState.__slots__, [(kind.__name__, _names(kind)) for kind in (*_PARTS, Motion, PlanUnderWay)])).encode()
).hexdigest()[:16]
_BALANCE_PLAIN = tuple(
    name
    for name in _names(BalanceMemory)
    if name not in {"motion", "plan", "failures", "impossible", "nodes", "refusal", "advice"}
)


def encode_state(state: ClusterState) -> bytes:
    """Returns a state as bytes."""
    data: dict[str, Any] = {name: getattr(state, name) for name in _PLAIN}
    for name in _SETS:
        data[name] = sorted(getattr(state, name))
    for name, kind in _RECORDS.items():
        values = attrgetter(*_names(kind))
        data[name] = [(key, values(record)) for key, record in getattr(state, name).items()]
    data["services"] = [(name, _encode_service(item)) for name, item in state.services.items()]
    data["leftovers"] = {name: sorted(nodes) for name, nodes in state.leftovers.items()}
    data["disarm"] = None if state.disarm is None else (state.disarm.mode, state.disarm.state)
    data["balance"] = _encode_balance(state.balance)
    packed: bytes = msgpack.packb([FINGERPRINT, data])
    return packed


def _encode_service(memory: ServiceMemory) -> dict[str, Any]:
    data = {name: getattr(memory, name) for name in _names(ServiceMemory)}
    values_of_death = attrgetter(*_names(Death))
    return {**data, "deaths": [values_of_death(death) for death in memory.deaths]}


def _decode_service(data: dict[str, Any]) -> ServiceMemory:
    return ServiceMemory(**{**data, "deaths": tuple(Death(*values) for values in data["deaths"])})


def _encode_balance(memory: BalanceMemory) -> dict[str, Any]:
    values_of_failure, values_of_motion = attrgetter(*_names(Failure)), attrgetter(*_names(Motion))
    data: dict[str, Any] = {name: getattr(memory, name) for name in _BALANCE_PLAIN}
    data["motion"] = None if memory.motion is None else values_of_motion(memory.motion)
    data["plan"] = None if memory.plan is None else attrgetter(*_names(PlanUnderWay))(memory.plan)
    data["failures"] = [(pair, values_of_failure(failure)) for pair, failure in memory.failures.items()]
    data["impossible"] = [(pair, (answer.reasons, answer.until)) for pair, answer in memory.impossible.items()]
    values_of_trouble = attrgetter(*_names(NodeTrouble))
    data["nodes"] = [(node, values_of_trouble(trouble)) for node, trouble in memory.nodes.items()]
    data["refusal"], data["advice"] = memory.refusal, memory.advice
    return data


def decode_state(packed: bytes) -> ClusterState | None:
    """Returns the state that was encoded, or None when this program's records are others."""
    try:
        fingerprint, data = msgpack.unpackb(packed, strict_map_key=False)
    except (ValueError, TypeError, msgpack.exceptions.UnpackException):
        return None
    if fingerprint != FINGERPRINT:
        return None
    state = ClusterState()
    for name in _PLAIN:
        setattr(state, name, data[name])
    for name in _SETS:
        setattr(state, name, set(data[name]))
    for name, kind in _RECORDS.items():
        setattr(state, name, {key: kind(*values) for key, values in data[name]})
    for record in state.resources.values():
        if record.request is not None:
            verb, argument, origin = record.request
            record.request = (verb, argument, origin)
    state.commands = {
        number: Command(item.id, item.verb, tuple(item.arguments), item.text, item.user)
        for number, item in state.commands.items()
    }
    state.services = {name: _decode_service(item) for name, item in data["services"]}
    state.leftovers = {name: frozenset(nodes) for name, nodes in data["leftovers"].items()}
    state.disarm = None if data["disarm"] is None else Disarm(*data["disarm"])
    state.balance = _decode_balance(data["balance"])
    return state


def _decode_balance(data: dict[str, Any]) -> BalanceMemory:
    memory = BalanceMemory()
    for name in _BALANCE_PLAIN:
        setattr(memory, name, data[name])
    memory.motion = None if data["motion"] is None else Motion(*data["motion"])
    memory.plan = _decode_plan(data["plan"])
    memory.failures = {(resource, target): Failure(*values) for (resource, target), values in data["failures"]}
    memory.impossible = {
        (resource, target): Impossible(tuple(reasons), until)
        for (resource, target), (reasons, until) in data["impossible"]
    }
    memory.nodes = {node: NodeTrouble(*values) for node, values in data["nodes"]}
    memory.refusal = None if data["refusal"] is None else (data["refusal"][0], data["refusal"][1])
    memory.advice = None if data["advice"] is None else (data["advice"][0], data["advice"][1])
    return memory


def _decode_plan(values: Sequence[Any] | None) -> PlanUnderWay | None:
    plan = None if values is None else PlanUnderWay(*values)
    if plan is not None:
        plan.steps = [(leader, target) for leader, target in plan.steps]
    return plan
