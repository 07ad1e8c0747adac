"""A snapshot of a cluster from a file: checked, and without what cannot be reckoned with; scores nothing."""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from events.errors import UserError
from haes import settings as known
from haes.cli.rules import read_text
from haes.rules.checks import transform
from haes.rules.compile import CompiledRules, compile_rules
from haes.rules.messages import drop_message
from haes.rules.parse import parse_rules
from haes.scheduling.plan import Movable
from haes.scheduling.stats import NodeStats, is_reckonable

NODE_KEYS = ("maxcpu", "maxmem", "cpu", "mem")
USE_KEYS = ("cpu", "mem", "maxcpu", "maxmem")
LOAD_KEYS = ("cpu", "mem")
LIMIT_KEYS = ("maxcpu", "maxmem")
ALLOWED_IN_NODE = frozenset(NODE_KEYS)
ALLOWED_IN_RESOURCE = frozenset({"node", *USE_KEYS, "auto-rebalance"})
ALLOWED_IN_START = frozenset(USE_KEYS)
# What a recorded case expects is its own business.
ALLOWED_IN_FILE = frozenset({"nodes", "resources", "start", "rules", "settings", "expect"})


@dataclass(slots=True)
class Snapshot:
    """A cluster as a file describes it.

    Attributes:
        nodes: the nodes that can be reckoned with.
        places: resource -> its node, for all resources, left out or not.
        loads: resource -> cpu and memory in use, for those that can be reckoned with.
        fixed: resources that are not to be moved.
        start: (maxcpu, maxmem) of a resource to be started, if any.
        settings: what the file sets.
        rules: its rules, by resource.
        warnings: what was left out and why, and what is likely mistaken.
    """

    nodes: dict[str, NodeStats] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    loads: dict[str, tuple[float, float]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    start: tuple[float, float] | None = None
    settings: known.Settings = field(default_factory=dict)
    rules: CompiledRules = field(default_factory=CompiledRules)
    warnings: list[str] = field(default_factory=list)


def read_data(path: Path) -> Any:
    """Reads a file of JSON.

    Raises:
        UserError: the file is missing, is not JSON, or has a key twice in one object.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise UserError(f"{path}: the key '{twice}' appears twice in one object")
        return result

    text = read_text(path)
    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: line {error.lineno} is not valid JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not usable JSON ({error})") from error


def snapshot_of(data: Any, path: Path) -> Snapshot:
    """Checks what a file holds, and takes it in.

    Raises:
        UserError: a key is unknown, a value is of the wrong kind, or a resource is on a node that is not listed.
    """
    _check_keys(path, "the file", data, ALLOWED_IN_FILE)
    snapshot = Snapshot(settings=known.check_settings(_settings(data.get("settings", {})), str(path)))
    snapshot.warnings += [f"{path}: {warning}" for warning in known.warnings_for(snapshot.settings)]
    listed = _check_object(path, "nodes", data.get("nodes"))
    for name, raw in listed.items():
        what = f"node '{name}'"
        stats = NodeStats(*_numbers(path, what, _check_keys(path, what, raw, ALLOWED_IN_NODE), NODE_KEYS))
        wrong = stats.problem()
        if wrong is None:
            snapshot.nodes[name] = stats
        else:
            snapshot.warnings.append(_left_out(what, wrong, raw))
    for name, raw in _check_object(path, "resources", data.get("resources", {})).items():
        _take_resource(path, name, raw, listed, snapshot)
    if "start" in data:
        snapshot.start = _start(path, data["start"])
    if "rules" in data:
        _take_rules(path, data["rules"], snapshot)
    return snapshot


def _settings(raw: Any) -> Any:
    """Returns settings by section; bare keys are those of crs."""
    if isinstance(raw, dict) and not raw.keys() & known.SECTIONS.keys():
        return {"crs": raw}
    return raw


def _take_resource(path: Path, name: str, raw: Any, listed: dict[str, Any], snapshot: Snapshot) -> None:
    what = f"resource '{name}'"
    values = _check_keys(path, what, raw, ALLOWED_IN_RESOURCE)
    node = values.get("node")
    if not isinstance(node, str) or node not in listed:
        raise UserError(f"{path}: {what} has node = {node!r}; known are {', '.join(sorted(listed)) or 'none'}")
    cpu, mem, *_ = _numbers(path, what, values, USE_KEYS)
    movable = values.get("auto-rebalance", 1)
    if movable not in (0, 1):
        raise UserError(f"{path}: {what} has auto-rebalance = {movable!r}; allowed are 0 and 1")
    snapshot.places[name] = node
    if not movable:
        snapshot.fixed.add(name)
    if not is_reckonable(cpu):
        snapshot.warnings.append(_left_out(what, "cpu", values))
    elif not is_reckonable(mem):
        snapshot.warnings.append(_left_out(what, "mem", values))
    elif node not in snapshot.nodes:
        snapshot.warnings.append(f"{what} is left out: so is its node '{node}'")
    else:
        snapshot.loads[name] = cpu, mem


def _start(path: Path, raw: Any) -> tuple[float, float]:
    values = _check_keys(path, "start", raw, ALLOWED_IN_START)
    _numbers(path, "start", values, LOAD_KEYS)
    maxcpu, maxmem = _numbers(path, "start", values, LIMIT_KEYS)
    for key, value in zip(LIMIT_KEYS, (maxcpu, maxmem), strict=True):
        if not is_reckonable(value):
            raise UserError(f"{path}: start has {key} = {values.get(key)}; expected a number from 0 on")
    return maxcpu, maxmem


def _take_rules(path: Path, text: Any, snapshot: Snapshot) -> None:
    if not isinstance(text, str):
        raise UserError(f"{path}: rules must be the text of a rules file")
    nodes = sorted(snapshot.nodes)
    rules, problems = parse_rules(text, f"{path}: rules")
    snapshot.warnings += [str(problem) for problem in problems]
    snapshot.warnings += [drop_message(finding) for finding in transform(rules, nodes)]
    snapshot.rules = compile_rules(rules, nodes)


def movables(snapshot: Snapshot) -> list[Movable]:
    """Returns what could move, by name: resources alone, and bundles that rules keep together.

    A bundle stays where it is if one of its members may not be moved, was left out, or is on another node.
    """
    places, loads, rules = snapshot.places, snapshot.loads, snapshot.rules
    ruled = rules.node_affinity.keys() | rules.together.keys() | rules.separate.keys()
    targets_of = _Targets(snapshot)
    found: dict[str, Movable] = {}
    for name in sorted(loads):
        if name in snapshot.fixed:
            continue
        if name not in ruled:
            found[name] = Movable((name,), places[name], *loads[name])
            continue
        others = rules.together.get(name)
        members: tuple[str, ...] = (name,)
        if others:
            present = [other for other in others if other in places]
            if any(places[other] != places[name] or other not in loads for other in present):
                continue
            members = tuple(sorted([name, *present]))
        if members[0] in found or not snapshot.fixed.isdisjoint(members):
            continue
        cpu, mem = loads[members[0]]
        for member in members[1:]:
            cpu, mem = cpu + loads[member][0], mem + loads[member][1]
        apart = frozenset[str]().union(*(rules.separate.get(member, ()) for member in members))
        must_leave = any(
            member in rules.node_affinity and places[name] not in rules.node_affinity[member] for member in members
        )
        found[members[0]] = Movable(members, places[name], cpu, mem, targets_of(members), apart, must_leave)
    return [found[leader] for leader in sorted(found)]


class _Targets:
    """The nodes to which rules let resources go; those of one rule are worked out once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._rules, self._online = snapshot.rules, frozenset(snapshot.nodes)
        self._of_rule: dict[int, frozenset[str]] = {}

    def __call__(self, members: Sequence[str]) -> frozenset[str] | None:
        """Returns the nodes that all members prefer among those that they may use, or None for all nodes."""
        result: frozenset[str] | None = None
        for member in members:
            priorities = self._rules.node_affinity.get(member)
            if priorities is None:
                continue
            # The rules live as long as this does, so the place in memory identifies one.
            preferred = self._of_rule.get(id(priorities))
            if preferred is None:
                found: AbstractSet[str] = self._rules.preferred_nodes(member, self._online)[1]
                preferred = self._of_rule[id(priorities)] = frozenset(found)
            result = preferred if result is None else result & preferred
        return result


def _check_object(path: Path, name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path}: {name} must be an object")
    return value


def _check_keys(path: Path, name: str, value: Any, allowed: AbstractSet[str]) -> dict[str, Any]:
    checked = _check_object(path, name, value)
    if not checked.keys() <= allowed:
        key = min(checked.keys() - allowed)
        raise UserError(f"{path}: {name} has the unknown key '{key}'; known are {', '.join(sorted(allowed))}")
    return checked


def _numbers(path: Path, name: str, values: dict[str, Any], keys: tuple[str, ...]) -> list[float]:
    """Returns values as numbers; missing ones and null are not a number, which is not the same as zero."""
    numbers: list[float] = []
    for key in keys:
        value: Any = values.get(key)
        kind = type(value)
        if kind is not float and kind is not int:
            if value is not None:
                raise UserError(f"{path}: {name} has {key} = {value!r}; expected a number")
            value = float("nan")
        numbers.append(value)
    return numbers


def _left_out(what: str, key: str, values: dict[str, Any]) -> str:
    value = values.get(key)
    shown = "missing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)[:20]
    return f"{what} is left out: its {key} is {shown}"
