"""`haes fence check`: reads fence devices as the manager would, and says what it would run to cut a node off."""

import argparse
from pathlib import Path

from haes.cli.rules import read_node_names, read_text
from haes.cli.terminal import warn
from haes.fencing.parse import parse_fence_config
from haes.fencing.report import doubts, fence_report


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("fence")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    check = steps.add_parser("check", help="check a file of fence devices and show what would be run")
    check.add_argument("file", type=Path, metavar="FILE")
    check.add_argument("--nodes", required=True, metavar="NODE,...", help="the cluster's nodes")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status, 1 when the file cannot be used."""
    nodes = read_node_names(options.nodes)
    config, faults = parse_fence_config(read_text(options.file))
    unusable = any(fault.grave for fault in faults)
    warnings = [str(fault) for fault in faults if not fault.grave]
    if not unusable:
        warnings += doubts(config, nodes)
    for warning in warnings:
        warn(f"warning: {options.file}: {warning}")
    print(fence_report(config, faults, str(options.file), nodes), end="")  # noqa: T201
    return int(unusable)
