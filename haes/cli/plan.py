"""`haes plan`: a snapshot of a cluster in, the best motions out."""

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from events.errors import UserError
from haes import settings as known
from haes.cli.rules import read_text
from haes.rules.checks import transform
from haes.rules.compile import compile_rules
from haes.rules.messages import drop_message
from haes.rules.parse import parse_rules
from haes.scheduling.exact import imbalance
from haes.scheduling.plan import Placement, arrays_of, best, is_usable, until_balanced
from haes.scheduling.start import start_scores
from haes.scheduling.usage import METHODS, NodeStats, ResourceStats, Scored

DEFAULT_TOP = 10
NODE_KEYS = ("maxcpu", "maxmem", "cpu", "mem")
RESOURCE_KEYS = ("cpu", "mem", "maxcpu", "maxmem")
FILE_KEYS = ("nodes", "resources", "start", "rules", "settings", "expect")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("plan", help="the best motions for a snapshot of a cluster")
    parser.add_argument("file", type=Path, metavar="FILE.json", help="nodes, resources, and perhaps rules and settings")
    parser.add_argument("--method", choices=sorted(METHODS), help="default: the file's setting, else bruteforce")
    parser.add_argument(
        "--top", type=int, default=DEFAULT_TOP, metavar="K", help=f"motions shown (default {DEFAULT_TOP})"
    )
    parser.add_argument("--until-balanced", action="store_true", help="all motions until the threshold is kept")
    parser.add_argument("--time", action="store_true", help="say how long scoring took, apart from reading")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


@dataclass(slots=True)
class Snapshot:
    """A cluster as a file describes it, without what cannot be reckoned with."""

    nodes: dict[str, NodeStats] = field(default_factory=dict)
    resources: dict[str, Placement] = field(default_factory=dict)
    start: ResourceStats | None = None
    settings: known.Settings = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    if options.top < 1:
        raise UserError(f"--top {options.top}: expected a number from 1 on")
    snapshot = read_snapshot(options.file)
    for warning in snapshot.warnings:
        print(f"warning: {warning}", file=sys.stderr)  # noqa: T201
    begin = time.perf_counter()
    nodes, candidates = arrays_of(snapshot.nodes, snapshot.resources)
    prepared = time.perf_counter()
    method = options.method or known.crs(snapshot.settings, "ha-auto-rebalance-method")
    before = imbalance(nodes)
    scores = None
    if snapshot.start is not None:
        values = start_scores(nodes, snapshot.start.maxcpu, snapshot.start.maxmem)
        scores = {name: float(value) for name, value in zip(nodes.names, values, strict=True)}
    scoring = time.perf_counter()
    if options.until_balanced:
        threshold = known.crs(snapshot.settings, "ha-auto-rebalance-threshold") / 100
        margin = known.crs(snapshot.settings, "ha-auto-rebalance-margin") / 100
        motions = until_balanced(nodes, candidates, method, threshold, margin)
    else:
        motions = best(nodes, candidates, method, options.top)
    done = time.perf_counter()
    times = {"seconds": done - scoring, "prepare_seconds": prepared - begin}
    if options.json:
        _print_json(before, motions, scores, times)
    else:
        _print_text(before, motions, scores, times if options.time else {})
    return 0


def _print_json(before: float, motions: list[Scored], scores: dict[str, float] | None, times: dict[str, float]) -> None:
    data: dict[str, Any] = {
        "imbalance": before,
        "motions": [
            {"resource": item.resource, "source": item.source, "target": item.target, "imbalance": item.imbalance}
            for item in motions
        ],
    }
    if scores is not None:
        data["start_scores"] = scores
    print(json.dumps(data | times))  # noqa: T201


def _print_text(before: float, motions: list[Scored], scores: dict[str, float] | None, times: dict[str, float]) -> None:
    lines = [f"imbalance now {before * 100:.1f}%"]
    if not motions:
        lines.append("no motion is possible or needed")
    lines += [
        f"{item.resource}: {item.source} to {item.target}, imbalance {item.imbalance * 100:.1f}%" for item in motions
    ]
    if scores is not None:
        ranked = sorted(scores, key=lambda node: (-scores[node], node))
        lines.append("best to start on: " + ", ".join(f"{node} ({scores[node]:.3f})" for node in ranked))
    lines += [f"{name.replace('_', ' ')}: {seconds:.6f}" for name, seconds in times.items()]
    print("\n".join(lines))  # noqa: T201


def read_snapshot(path: Path) -> Snapshot:
    """Reads and checks a snapshot.

    Raises:
        UserError: the file is missing, is not JSON, has an unknown key, or a resource is on an unknown node.
    """
    try:
        data = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: line {error.lineno} is not valid JSON ({error.msg})") from error
    _check_keys(path, "the file", data, FILE_KEYS)
    snapshot = Snapshot(settings=known.check_settings(_settings(data.get("settings", {})), str(path)))
    listed = _check_object(path, "nodes", data.get("nodes"))
    for name, raw in listed.items():
        stats = _numbers(path, f"node '{name}'", raw, NODE_KEYS)
        if not is_usable(stats) or not int(stats[0]) or not int(stats[1]):
            snapshot.warnings.append(f"node '{name}' is left out: {_odd(stats, NODE_KEYS, positive=2)}")
            continue
        snapshot.nodes[name] = NodeStats(*stats)
    _read_resources(path, data, listed, snapshot)
    if "start" in data:
        stats = _numbers(path, "start", data["start"], RESOURCE_KEYS)
        if not is_usable(stats):
            raise UserError(f"{path}: start has {_odd(stats, RESOURCE_KEYS)}")
        snapshot.start = ResourceStats(*stats)
    if "rules" in data:
        _apply_rules(path, data["rules"], snapshot)
    return snapshot


def _settings(raw: Any) -> Any:
    """Returns settings by section; bare keys are those of crs."""
    if isinstance(raw, dict) and not raw.keys() & known.SECTIONS.keys():
        return {"crs": raw}
    return raw


def _read_resources(path: Path, data: dict[str, Any], listed: dict[str, Any], snapshot: Snapshot) -> None:
    for name, raw in _check_object(path, "resources", data.get("resources", {})).items():
        what = f"resource '{name}'"
        values = _check_keys(path, what, raw, ("node", *RESOURCE_KEYS, "auto-rebalance"))
        node = values.get("node")
        if not isinstance(node, str) or node not in listed:
            raise UserError(f"{path}: {what} is on the unknown node '{node}'; known are {', '.join(sorted(listed))}")
        stats = _numbers(path, what, {key: values.get(key) for key in RESOURCE_KEYS}, RESOURCE_KEYS)
        if node not in snapshot.nodes:
            continue
        if not is_usable(stats[:2]):
            snapshot.warnings.append(f"{what} is left out: {_odd(stats, RESOURCE_KEYS)}")
            continue
        movable = values.get("auto-rebalance", 1) not in (0, False)
        snapshot.resources[name] = Placement(node, ResourceStats(*stats), movable=movable)


def _apply_rules(path: Path, text: Any, snapshot: Snapshot) -> None:
    """Restricts where resources may go; resources to be kept together are not moved one by one."""
    if not isinstance(text, str):
        raise UserError(f"{path}: rules must be the text of a rules file")
    nodes = sorted(snapshot.nodes)
    rules, problems = parse_rules(text, f"{path}: rules")
    snapshot.warnings += [str(problem) for problem in problems]
    snapshot.warnings += [drop_message(finding) for finding in transform(rules, nodes)]
    compiled, online = compile_rules(rules, nodes), frozenset(nodes)
    for name, placement in snapshot.resources.items():
        _allowed, preferred = compiled.preferred_nodes(name, online)
        apart = {
            snapshot.resources[other].node for other in compiled.separate.get(name, ()) if other in snapshot.resources
        }
        if name in compiled.node_affinity or apart:
            placement.targets = frozenset(preferred) - apart
        if any(other in snapshot.resources for other in compiled.together.get(name, ())):
            placement.movable = False


def _check_object(path: Path, name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path}: {name} must be an object")
    return value


def _check_keys(path: Path, name: str, value: Any, allowed: tuple[str, ...]) -> dict[str, Any]:
    for key in _check_object(path, name, value):
        if key not in allowed:
            raise UserError(f"{path}: {name} has the unknown key '{key}'; known are {', '.join(allowed)}")
    return dict(value)


def _numbers(path: Path, name: str, raw: Any, keys: tuple[str, ...]) -> list[float]:
    """Returns values as numbers; missing ones and null are not a number, which is not the same as zero."""
    values = _check_keys(path, name, raw, keys)
    numbers = []
    for key in keys:
        value = values.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise UserError(f"{path}: {name} has {key} = {value!r}; expected a number")
        numbers.append(float("nan") if value is None else value)
    return numbers


def _odd(stats: list[float], keys: tuple[str, ...], *, positive: int = 0) -> str:
    """Names the first value that cannot be reckoned with; the first `positive` ones must not be zero either."""
    for place, (key, value) in enumerate(zip(keys, stats, strict=True)):
        if not is_usable([value]) or (place < positive and not int(value)):
            return f"{key} is {'missing or not a number' if value != value else value}"  # noqa: PLR0124 - the test for NaN
    return "its numbers are odd"
