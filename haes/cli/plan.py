"""`haes plan`: a snapshot of a cluster in, the best motions out."""

import argparse
import contextlib
import gc
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from events.errors import UserError
from haes import settings as known
from haes.cli import plan_report as report
from haes.cli.snapshot import Snapshot, movables, read_data, snapshot_of
from haes.cli.terminal import say, warn
from haes.scheduling.motions import Scored
from haes.scheduling.plan import Movable, Plan
from haes.scheduling.planning.building import problem_of
from haes.scheduling.planning.planner import Planned, plan
from haes.scheduling.planning.solver import is_installed

DEFAULT_TOP = 10
PERCENT = 100
METHOD_HELP = (
    f"{known.METHOD_AHEAD}: the fewest motions in all; others: the best next one;"
    " default: the file's setting, else bruteforce"
)


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("plan")
    parser.add_argument("file", type=Path, metavar="FILE.json", help="nodes, resources, and perhaps rules and settings")
    parser.add_argument("--method", choices=sorted(known.METHODS), help=METHOD_HELP)
    parser.add_argument(
        "--top", type=int, default=DEFAULT_TOP, metavar="K", help=f"motions shown (default {DEFAULT_TOP})"
    )
    parser.add_argument("--until-balanced", action="store_true", help="all motions until the threshold is kept")
    parser.add_argument(
        "--why", action="store_true", help="what a plan is for, what each motion does, why none is shorter"
    )
    parser.add_argument(
        "--compare", action="store_true", help="plan, and one best motion after the other, side by side"
    )
    parser.add_argument("--solver", action="store_true", help="let a constraint solver look at what plans leave open")
    parser.add_argument("--draw", action="store_true", help="draw the nodes before, each motion, and the nodes after")
    parser.add_argument("--time", action="store_true", help="say how long scoring took, apart from reading")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    if options.top < 1:
        raise UserError(f"--top {options.top}: expected a number from 1 on")
    if options.json and (options.why or options.compare or options.draw):
        raise UserError("--json prints motions alone; leave it out for --why, --compare and --draw")
    with _collection_paused():
        data = read_data(options.file)
        begin = time.perf_counter()
        snapshot = snapshot_of(data, options.file)
        units = movables(snapshot)
        step_by_step = Plan(snapshot.nodes, units, snapshot.places)
        prepared = time.perf_counter()
    for warning in snapshot.warnings:
        warn(f"warning: {warning}")
    method = options.method or known.crs(snapshot.settings, "ha-auto-rebalance-method")
    if options.solver and not is_installed():
        raise UserError("--solver needs OR-Tools, which is not installed: pip install 'haes[planning]'")
    if options.why and method != known.METHOD_AHEAD:
        raise UserError(f"--why explains plans; it needs --method {known.METHOD_AHEAD}")
    if options.draw and method != known.METHOD_AHEAD and not options.until_balanced:
        raise UserError(
            f"--draw needs motions that follow each other: --until-balanced or --method {known.METHOD_AHEAD}"
        )
    threshold = known.crs(snapshot.settings, "ha-auto-rebalance-threshold") / PERCENT
    margin = known.crs(snapshot.settings, "ha-auto-rebalance-margin") / PERCENT
    scoring = time.perf_counter()
    before = step_by_step.imbalance()
    scores = None if snapshot.start is None else step_by_step.start_scores(*snapshot.start)
    planned: Planned | None = None
    if method == known.METHOD_AHEAD:
        planned = plan_ahead(snapshot, units, solver=options.solver)
        motions = list(planned.motions)
    elif options.until_balanced:
        motions = step_by_step.until_balanced(method, threshold, margin)
    else:
        motions = step_by_step.best(method, options.top)
    done = time.perf_counter()
    times = {"seconds": done - scoring, "prepare_seconds": prepared - begin}
    if options.json:
        _print_json(before, motions, scores, times, planned)
    else:
        _print_text(before, motions, scores, times if options.time else {}, planned)
        say(*_more(options, snapshot, units, motions, planned))
    return 0


def _more(
    options: argparse.Namespace,
    snapshot: Snapshot,
    units: Sequence[Movable],
    motions: Sequence[Scored],
    planned: Planned | None,
) -> list[str]:
    """Returns what was asked for beside the motions."""
    if not (options.why or options.draw or options.compare):
        return []
    lines: list[str] = []
    made = report.walk(snapshot.nodes, units, motions)
    limit = known.crs(snapshot.settings, "ha-auto-rebalance-max-target-load")
    ceiling = None if limit is None else limit / PERCENT
    if options.why and planned is not None:
        lines += ["", *report.why(planned, made, units, ceiling)]
    if options.draw:
        lines += ["", *report.draw(motions, made)]
    if options.compare:
        greedy = Plan(snapshot.nodes, units, snapshot.places)
        threshold = known.crs(snapshot.settings, "ha-auto-rebalance-threshold") / PERCENT
        margin = known.crs(snapshot.settings, "ha-auto-rebalance-margin") / PERCENT
        steps = greedy.until_balanced("bruteforce", threshold, margin)
        ahead = planned or plan_ahead(snapshot, units)
        before = Plan(snapshot.nodes, units, snapshot.places).imbalance()
        ways = {"step by step": steps, "plan": list(ahead.motions)}
        table = {
            name: (report.walk(snapshot.nodes, units, way), way[-1].imbalance if way else before)
            for name, way in ways.items()
        }
        lines += ["", *report.compare(table, ceiling)]
    return lines


def plan_ahead(snapshot: Snapshot, units: Sequence[Movable], *, solver: bool = False) -> Planned:
    """Returns the fewest motions that bring the cluster of a snapshot to rest, by its own settings."""
    ceiling = known.crs(snapshot.settings, "ha-auto-rebalance-max-target-load")
    problem = problem_of(
        snapshot.nodes,
        units,
        snapshot.places,
        threshold=known.crs(snapshot.settings, "ha-auto-rebalance-threshold") / PERCENT,
        ceiling=None if ceiling is None else ceiling / PERCENT,
    )
    return plan(problem, margin=known.crs(snapshot.settings, "ha-auto-rebalance-margin") / PERCENT, solver=solver)


@contextlib.contextmanager
def _collection_paused() -> Iterator[None]:
    """Saves the search for garbage, a third of the time, while nearly everything that is made is kept."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _print_json(
    before: float,
    motions: list[Scored],
    scores: dict[str, float] | None,
    times: dict[str, float],
    planned: Planned | None,
) -> None:
    data: dict[str, Any] = {
        "imbalance": before,
        "motions": [
            {"resource": item.resource, "source": item.source, "target": item.target, "imbalance": item.imbalance}
            for item in motions
        ],
    }
    if scores is not None:
        data["start_scores"] = scores
    if planned is not None:
        data["plan"] = {
            "at_rest": planned.after.at_rest(),
            "fewest_possible": planned.bound,
            "is_fewest": planned.is_shortest,
            "is_most_even": planned.is_best,
            "misplaced": planned.after.misplaced,
            "excess": planned.after.excess,
        }
    print(json.dumps(data | times))  # noqa: T201


def _print_text(
    before: float,
    motions: list[Scored],
    scores: dict[str, float] | None,
    times: dict[str, float],
    planned: Planned | None,
) -> None:
    lines = [f"imbalance now {before * PERCENT:.1f}%"]
    if planned is not None:
        lines.append(verdict(planned))
    elif not motions:
        lines.append("no motion is possible or needed")
    lines += [
        f"{item.resource}: {item.source} to {item.target}, imbalance {item.imbalance * PERCENT:.1f}%"
        for item in motions
    ]
    if scores is not None:
        ranked = sorted(scores, key=lambda node: (-scores[node], node))
        lines.append("best to start on: " + ", ".join(f"{node} ({scores[node]:.3f})" for node in ranked))
    lines += [f"{name.replace('_', ' ')}: {seconds:.6f}" for name, seconds in times.items()]
    say(*lines)


def verdict(planned: Planned) -> str:
    """Says in one line what a plan achieves, and what is proved about it."""
    count = len(planned.motions)
    motions = "one motion" if count == 1 else f"{count} motions"
    if planned.before.at_rest():
        return "the cluster is at rest"
    if planned.is_shortest:
        return f"{motions} to rest; fewer cannot do it"
    if planned.after.at_rest():
        return f"{motions} to rest; fewer than {planned.bound} cannot do it"
    left = []
    if planned.after.misplaced:
        left.append(f"{planned.after.misplaced} against a rule")
    if planned.after.excess:
        left.append(f"nodes {planned.after.excess * PERCENT:.1f}% over the ceiling in all")
    if planned.after.over_threshold:
        left.append(f"imbalance {planned.after.over_threshold * PERCENT:.1f}%")
    return f"no way to rest was found; after {motions if count else 'no motion'} there is left: {', '.join(left)}"
