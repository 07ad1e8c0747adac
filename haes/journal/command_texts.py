"""Texts about what operators asked for."""

from collections.abc import Callable

from events.envelope import Event
from haes.journal.texts import Lines, values

_NEGATIVE_AFFINITY = (
    "crm command '{text}' error - service '{other}' on node '{target}' in negative affinity with service '{resource}'"
)
_ANSWERS: dict[str, tuple[str, str]] = {
    "no_such_resource": ("err", "crm command error - no such service: {text}"),
    "node_not_online": ("err", "crm command error - node not online: {text}"),
    "negative_affinity": ("err", _NEGATIVE_AFFINITY),
    "unknown": ("err", "unable to parse crm command: {text}"),
    "already_there": ("info", "ignore crm command - service already on target node: {text}"),
    "disarmed": ("warning", "ignoring maintenance command for node {node} - HA stack is disarmed"),
    "already_in_maintenance": ("info", "ignoring crm command - node {node} is already in maintenance state"),
    "disarmed_already": ("notice", "ignoring disarm-ha command - already in disarm state ({state})"),
    "not_allowed": ("err", "command error - {problem}: {text}"),
    "node_known": ("info", "ignore command - node {node} belongs to the cluster already: {text}"),
    "unusable": ("err", "command error - the request cannot be used: {problem}"),
    "undecidable": ("err", "command error - it cannot be decided ({problem}): {text}"),
    "expired": ("warning", "command error - no leader took it over in time: {text}"),
    "repeated": ("info", "ignore command - it was sent before, as command {first}: {text}"),
    "not_disarmed": ("notice", "ignoring arm-ha command - HA stack is not disarmed"),
}


def _answer(event: Event) -> Lines:
    level, template = _ANSWERS[event.payload["reason"]]
    return [(level, template.format_map(values(event, **(event.payload.get("details") or {}))))]


def _maintenance_cleared(event: Event) -> Lines:
    state = event.payload["state"]
    if state == "maintenance":
        return []
    return [("warning", f"clearing maintenance of node {event.subject} requested, but it's in state {state}")]


COMMAND_TEXTS: dict[str, Callable[[Event], Lines]] = {
    "command.rejected": _answer,
    "command.ignored": _answer,
    "maintenance.cleared": _maintenance_cleared,
}
