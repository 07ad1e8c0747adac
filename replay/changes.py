"""What two states differ in, by node and resource: facts of a state, and the changes between two sets of them.

A fact is a value with a place, `(group, name, field)`. Values that say nothing (none, an empty text or list) are no
facts, so that a target that appears is added and one that is reached is removed.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from haes.state.cluster import ClusterState
from haes.state.describe import describe
from replay.moments import say_time

Facts = dict[tuple[str, str, str], Any]

CLUSTER, NODE, RESOURCE, BALANCER = "cluster", "node", "resource", "balancer"
GROUPS = (CLUSTER, NODE, RESOURCE, BALANCER)
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
# Every event changes these; they say where one is, not what changed.
_POSITION = frozenset({"n", "at", "versions"})
# Parts of a description that are kept by node, and what they say about one.
# Which events each process understands, and how far each user's requests were read.
_FOR_PROGRAMS = frozenset({"announced", "requests"})
# Values with such a name are domain times.
_TIMES = frozenset({"at", "began", "up_since", "until", "rests_until", "paused_until"})
_OF_NODES = {"nodes": "state", "last_online": "last_online", "managers": "manager", "agents": "agent"}


@dataclass(frozen=True, slots=True)
class Change:
    """One fact that differs.

    Attributes:
        group: cluster, node, resource or balancer.
        name: of the node or resource; empty for the others.
        field: what about it, with dots for parts of parts.
        old: the value before, None when there was none.
        new: the value after, None when there is none.
    """

    group: str
    name: str
    field: str
    old: Any
    new: Any

    @property
    def kind(self) -> str:
        """added, removed or changed."""
        return ADDED if self.old is None else REMOVED if self.new is None else CHANGED

    def to_data(self) -> dict[str, Any]:
        """Returns the change as JSON-like data."""
        return {
            "group": self.group,
            "name": self.name,
            "field": self.field,
            "change": self.kind,
            "old": self.old,
            "new": self.new,
        }

    def to_text(self) -> str:
        """Returns the change in words, without whom it is about."""
        name = self.field.rpartition(".")[2]
        old, new = say_value(self.old, name), say_value(self.new, name)
        match self.kind:
            case "added":
                return f"{self.field}: {new}"
            case "removed":
                return f"{self.field} (was {old})"
            case _:
                return f"{self.field}: {old} -> {new}"


def facts(state: ClusterState) -> Facts:
    """Returns everything that a state says, each under its place."""
    data = describe(state)
    found = _Facts()
    for name in data.pop("members"):
        found.put(NODE, name, "member", True)
    for name in data.pop("present"):
        found.put(NODE, name, "present", True)
    for name in data.pop("maintenance"):
        found.put(NODE, name, "maintenance", True)
    for part, field in _OF_NODES.items():
        for name, value in data.pop(part).items():
            found.put(NODE, name, field, value)
    for name, value in data.pop("configurations").items():
        found.put(RESOURCE, name, "configuration", value)
    for name, record in data.pop("resources").items():
        for field, value in record.items():
            found.put(RESOURCE, name, field, value)
    for name, record in data.pop("services", {}).items():
        found.put(RESOURCE, name, "service", record)
    for command in data.pop("commands"):
        found.put(CLUSTER, "", f"commands.{command['id']}", command["text"])
    for subject, parked in data.pop("parked").items():
        found.put(_group_of(state, subject), subject, "parked", parked["reason"])
    _balance(found, data.pop("balance"))
    for field, value in data.items():
        if field not in _POSITION:
            found.put(CLUSTER, "", field, value)
    return found.all


class _Facts:
    """Collects facts; takes nested data apart."""

    def __init__(self) -> None:
        self.all: Facts = {}

    def put(self, group: str, name: str, field: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, part in value.items():
                self.put(group, name, f"{field}.{key}", part)
        elif value is not None and value not in ("", [], ()):
            self.all[group, name, field] = list(value) if isinstance(value, tuple) else value


def _group_of(state: ClusterState, subject: str) -> str:
    if ":" in subject:
        return RESOURCE
    return NODE if subject in state.members or subject in state.nodes else CLUSTER


def _balance(found: _Facts, memory: dict[str, Any]) -> None:
    """What the balancer remembers of a resource stands with that resource."""
    for row in memory.pop("failures"):
        rest = {key: value for key, value in row.items() if key not in {"resource", "target"}}
        found.put(RESOURCE, row["resource"], f"failed.{row['target']}", rest)
    for row in memory.pop("impossible"):
        rest = {"reasons": row["reasons"], "until": row["until"]}
        found.put(RESOURCE, row["resource"], f"impossible.{row['target']}", rest)
    for resource, until in memory.pop("cooldowns").items():
        found.put(RESOURCE, resource, "rests_until", until)
    refusal = memory.pop("refusal")
    # Why nothing was done is a word; its details belong to the event that said it.
    found.put(BALANCER, "", "refusal", None if refusal is None else refusal[0])
    motion = memory.pop("motion")
    if motion is not None:
        said = f"{motion['number']}, {motion['verb']} {motion['leader']} from {motion['source']} to {motion['target']}"
        found.put(BALANCER, "", "motion", said)
        for resource, outcome in motion["members"].items():
            found.put(RESOURCE, resource, f"motion.{motion['number']}", outcome)
    for field, value in memory.items():
        found.put(BALANCER, "", field, value)


def changes(before: Facts, after: Facts) -> list[Change]:
    """Returns what differs, by group, name and field; the cluster comes first."""
    places = {place for place in before.keys() | after.keys() if before.get(place) != after.get(place)}
    ordered = sorted(places, key=lambda place: (GROUPS.index(place[0]), *place[1:]))
    return [Change(*place, before.get(place), after.get(place)) for place in ordered]


def read_by_people(found: Iterable[Change]) -> list[Change]:
    """Leaves out what programs keep for each other: a hundred lines for each process that joins."""
    return [change for change in found if change.field.partition(".")[0] not in _FOR_PROGRAMS]


def change_lines(found: Iterable[Change]) -> list[str]:
    """Returns changes as lines for people, under a heading for each node and resource."""
    lines: list[str] = []
    heading: str | None = None
    for change in found:
        if heading != (heading := f"{change.group} {change.name}".rstrip()):
            lines.append(heading)
        lines.append(f"  {change.kind:<7}  {change.to_text()}")
    return lines


def say_value(value: Any, name: str = "") -> str:
    """Returns a value for people; of a time its name says that it is one."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in _TIMES and isinstance(value, int | float):
        return say_time(value)
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, Mapping):
        return " ".join(f"{key} {say_value(part, key)}" for key, part in value.items() if part is not None)
    if isinstance(value, list):
        return ", ".join(map(say_value, value))
    text = str(value)
    return json.dumps(text) if "\n" in text else text
