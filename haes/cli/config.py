"""`haes config check`: whether a cluster's file is as it must be."""

import argparse
from pathlib import Path

from haes.cli.exposed import exposed
from haes.cli.terminal import say
from haes.configuration.file import read_cluster
from haes.settings import warnings_for


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("config")
    parser.add_argument("action", choices=("check",))
    parser.add_argument("file", metavar="FILE", type=Path, help="the cluster's file (cluster.toml)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    configuration = read_cluster(options.file)
    for warning in warnings_for(configuration.settings):
        say(f"warning: {warning}")
    for resource, changes in configuration.resources.items():
        for warning in exposed(resource, changes.get("service", {}).get("environment")):
            say(warning)
    say(
        f"{options.file}: cluster '{configuration.name}', {len(configuration.nodes)} nodes, "
        f"{len(configuration.resources)} resources",
    )
    return 0
