"""`haes plan`: a snapshot of a cluster in, the best motions out."""

import argparse
import contextlib
import gc
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from events.errors import UserError
from haes import settings as known
from haes.cli.snapshot import movables, read_data, snapshot_of
from haes.scheduling.motions import METHODS, Scored
from haes.scheduling.plan import Plan

DEFAULT_TOP = 10
PERCENT = 100


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("plan")
    parser.add_argument("file", type=Path, metavar="FILE.json", help="nodes, resources, and perhaps rules and settings")
    parser.add_argument("--method", choices=sorted(METHODS), help="default: the file's setting, else bruteforce")
    parser.add_argument(
        "--top", type=int, default=DEFAULT_TOP, metavar="K", help=f"motions shown (default {DEFAULT_TOP})"
    )
    parser.add_argument("--until-balanced", action="store_true", help="all motions until the threshold is kept")
    parser.add_argument("--time", action="store_true", help="say how long scoring took, apart from reading")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    if options.top < 1:
        raise UserError(f"--top {options.top}: expected a number from 1 on")
    with _collection_paused():
        data = read_data(options.file)
        begin = time.perf_counter()
        snapshot = snapshot_of(data, options.file)
        plan = Plan(snapshot.nodes, movables(snapshot), snapshot.places)
        prepared = time.perf_counter()
    for warning in snapshot.warnings:
        print(f"warning: {warning}", file=sys.stderr)  # noqa: T201
    method = options.method or known.crs(snapshot.settings, "ha-auto-rebalance-method")
    threshold = known.crs(snapshot.settings, "ha-auto-rebalance-threshold") / PERCENT
    margin = known.crs(snapshot.settings, "ha-auto-rebalance-margin") / PERCENT
    scoring = time.perf_counter()
    before = plan.imbalance()
    scores = None if snapshot.start is None else plan.start_scores(*snapshot.start)
    motions = (
        plan.until_balanced(method, threshold, margin) if options.until_balanced else plan.best(method, options.top)
    )
    done = time.perf_counter()
    times = {"seconds": done - scoring, "prepare_seconds": prepared - begin}
    if options.json:
        _print_json(before, motions, scores, times)
    else:
        _print_text(before, motions, scores, times if options.time else {})
    return 0


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
    lines = [f"imbalance now {before * PERCENT:.1f}%"]
    if not motions:
        lines.append("no motion is possible or needed")
    lines += [
        f"{item.resource}: {item.source} to {item.target}, imbalance {item.imbalance * PERCENT:.1f}%"
        for item in motions
    ]
    if scores is not None:
        ranked = sorted(scores, key=lambda node: (-scores[node], node))
        lines.append("best to start on: " + ", ".join(f"{node} ({scores[node]:.3f})" for node in ranked))
    lines += [f"{name.replace('_', ' ')}: {seconds:.6f}" for name, seconds in times.items()]
    print("\n".join(lines))  # noqa: T201
