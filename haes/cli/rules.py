"""`haes rules`: what the manager would make of affinity rules, what is in use, and replacing it."""

import argparse
import asyncio
from pathlib import Path

from events.errors import UserError
from events.url import connect
from haes.cli.operate import add_request_options, submit
from haes.cli.options import add_log_options, require_log
from haes.cli.terminal import warn
from haes.rules.report import check_report
from haes.rules.values import is_node
from haes.state.restore import restore_state


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("rules")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    check = steps.add_parser("check", help="check a rules file and show what it comes to")
    check.add_argument("file", type=Path, metavar="FILE")
    check.add_argument("--nodes", required=True, metavar="NODE,...", help="the cluster's nodes")
    show = steps.add_parser("show", help="print the rules of a running cluster")
    add_log_options(show, default=None)
    change = steps.add_parser("set", help="replace the rules of a running cluster by those of a file")
    change.add_argument("file", type=Path, metavar="FILE")
    add_request_options(change)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    if options.step == "show":
        require_log(options)
        text = asyncio.run(_rules(options.log, options.cluster))
        print(text, end="")  # noqa: T201
        if not text:
            # Not among the rules, which somebody may keep in a file.
            warn("there are no rules")
        return 0
    if options.step == "set":
        return submit(options, [("change-rules", [read_text(options.file)])])
    nodes = read_node_names(options.nodes)
    report, problems = check_report(read_text(options.file), str(options.file), nodes)
    for problem in problems:
        warn(f"warning: {problem}")
    print(report, end="")  # noqa: T201
    return 0


async def _rules(url: str, cluster: str) -> str:
    async with connect(url, cluster) as log:
        return (await restore_state(log)).rules_text


def read_node_names(text: str) -> list[str]:
    """Returns the nodes that `--nodes` names, without repetitions, in the order given.

    Raises:
        UserError: there is none, or one has a name that no node can have.
    """
    nodes = list(dict.fromkeys(node.strip() for node in text.split(",") if node.strip()))
    for node in nodes:
        if not is_node(node):
            raise UserError(f"--nodes: '{node}' cannot be a node's name; expected a list such as node1,node2,node3")
    if not nodes:
        raise UserError("--nodes names no node; expected a list such as node1,node2,node3")
    return nodes


def read_text(path: Path) -> str:
    """Returns a file's text, with the ends of its lines as they are.

    Raises:
        UserError: the file is missing, cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from error
