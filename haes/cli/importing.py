"""`haes import`: makes a cluster's file out of what another tool wrote."""

import argparse
from pathlib import Path
from typing import Any

import tomli_w

from events.errors import UserError
from haes.cli.show import make_console
from haes.configuration.file import parse_cluster
from haes.simulation.scenario import Scenario, load_scenario


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("import")
    parser.add_argument("kind", choices=("ha-tester",), help="what the folder is: a scenario of the simulation")
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--output", "-o", metavar="FILE", type=Path, help="write it there instead of printing it")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    scenario = load_scenario(options.folder, [])
    if scenario.groups:
        raise UserError(f"{options.folder / 'groups'}: groups cannot be imported; turn them into rules first")
    text = tomli_w.dumps(_cluster(scenario, options.folder.name))
    # What comes out must be what goes in.
    parse_cluster(text, str(options.folder))
    if options.output is None:
        make_console().print(text, end="")
    else:
        try:
            options.output.write_text(text)
        except OSError as error:
            raise UserError(f"{options.output}: cannot be written ({error.strerror})") from error
    return 0


def _cluster(scenario: Scenario, name: str) -> dict[str, Any]:
    data: dict[str, Any] = {"cluster": {"name": name}}
    if scenario.rules:
        data["rules"] = scenario.rules
    if scenario.settings:
        data["settings"] = scenario.settings
    data["nodes"] = {node: _node(values) for node, values in sorted(scenario.nodes.items())}
    data["resources"] = {
        resource: _resource(configuration, scenario.limits.get(resource, {}))
        for resource, configuration in sorted(scenario.resources.items())
    }
    return data


def _node(values: dict[str, Any]) -> dict[str, Any]:
    known = {"cpus": values.get("maxcpu"), "memory": values.get("maxmem")}
    return {key: float(value) if key == "cpus" else int(value) for key, value in known.items() if value is not None}


def _resource(configuration: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    keys = ("node", "state", "failback", "max_restart", "max_relocate", "auto_rebalance")
    data = {key: configuration[key] for key in keys}
    if limits.get("maxcpu"):
        data["cpus"] = float(limits["maxcpu"])
    if limits.get("maxmem"):
        data["memory"] = int(limits["maxmem"])
    return data
