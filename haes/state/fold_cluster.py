"""What events about the cluster as a whole do to the state."""

from collections.abc import Callable, Mapping
from typing import Any

from haes.state.cluster import ClusterState
from haes.state.records import Command, Disarm, ResourceRecord, name_in

Payload = Mapping[str, Any]

# Of commands, and far beyond what any cluster receives: larger ones could not be written again.
LARGEST_NUMBER = 2**53


def created(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`cluster.created`."""
    state.name = payload["name"]


def imported(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`cluster.imported`: takes states over as they are; nothing of it is checked by the machines."""
    state.nodes.update(payload["nodes"])
    for resource, values in payload["resources"].items():
        state.resources[resource] = ResourceRecord(**values)
    state.maintenance.update(payload["maintenance"])
    if payload["disarm"] is not None:
        state.disarm = Disarm(**payload["disarm"])
    state.leader = payload["leader"]


def membership(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`cluster.membership`: whom the leader sees, and when those that left were last seen."""
    state.present = set(payload["online"])
    for node in state.present:
        state.last_online.pop(node, None)
    state.last_online.update(payload["left"])


def settings_changed(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`settings.changed`."""
    state.settings = {section: dict(values) for section, values in payload["settings"].items()}


def rules_changed(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`rules.changed`."""
    state.rules_text = name_in(payload["text"])


def rules_applied(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`rules.applied`."""
    state.rules_applied = payload["digest"]
    state.rules_nodes = list(payload["nodes"])


def groups_changed(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`groups.changed`."""
    state.groups_text = name_in(payload["text"])
    if not state.groups_text:
        state.groups_rounds_left = None


def groups_waiting(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`groups.migration_waiting`."""
    state.groups_rounds_left = payload["rounds_left"]


def scheduler_selected(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`scheduler.selected`."""
    state.scheduler = name_in(payload["mode"])


def disarm_requested(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`disarm.requested`."""
    state.commands.pop(payload["command"], None)
    state.disarm = Disarm(mode=name_in(payload["mode"]), state="disarming")


def disarm_completed(state: ClusterState, _subject: str, _payload: Payload, _at: float) -> None:
    """`disarm.completed`."""
    if state.disarm is not None:
        state.disarm = Disarm(mode=state.disarm.mode, state="disarmed")


def arm_requested(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`arm.requested`."""
    state.commands.pop(payload["command"], None)
    state.disarm = None


# Keys of commands that are remembered: more than any client sends while it still repeats one.
KEYS_KEPT = 1000


def command_received(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`command.received`: the command waits for the leader."""
    number = payload["id"]
    if number.__class__ is not int or not 0 < number <= LARGEST_NUMBER:
        raise ValueError(f"{number!r:.80} is no number of a command")
    user, text, verb = name_in(payload["user"]), name_in(payload["text"]), name_in(payload["verb"])
    if payload.get("request"):
        state.requests[user] = name_in(payload["request"])
    if payload.get("key"):
        state.request_keys.setdefault(f"{user}/{payload['key']}", number)
        if len(state.request_keys) > KEYS_KEPT:
            del state.request_keys[next(iter(state.request_keys))]
    state.command_count = max(state.command_count, number)
    state.commands[number] = Command(
        id=number,
        verb=verb,
        arguments=tuple(map(name_in, payload["arguments"])),
        text=text,
        user=user,
    )


def command_settled(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`command.rejected`, `command.ignored`, `command.done`."""
    state.commands.pop(payload["id"], None)


def log_accepted(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`log.accepted`, `log.restored`: whoever knew another log goes on; what was lost is known to a person."""
    state.accepted_log = payload["log_id"]
    state.lost_events = 0


def log_regressed(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`log.regressed`."""
    state.lost_events += max(0, payload["known_n"] - payload["found_n"])


def archive_written(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`archive.written`: what was recorded of a file stays known when the event itself is archived and trimmed."""
    state.archived[payload["file"]] = payload["sha256"]


CLUSTER_HANDLERS: dict[str, Callable[[ClusterState, str, Payload, float], None]] = {
    "cluster.created": created,
    "log.accepted": log_accepted,
    "log.regressed": log_regressed,
    "log.restored": log_accepted,
    "cluster.imported": imported,
    "cluster.membership": membership,
    "settings.changed": settings_changed,
    "rules.changed": rules_changed,
    "rules.applied": rules_applied,
    "groups.changed": groups_changed,
    "groups.migration_waiting": groups_waiting,
    "scheduler.selected": scheduler_selected,
    "disarm.requested": disarm_requested,
    "disarm.completed": disarm_completed,
    "arm.requested": arm_requested,
    "command.received": command_received,
    "command.rejected": command_settled,
    "command.ignored": command_settled,
    "command.done": command_settled,
    "archive.written": archive_written,
}
