"""`haes rules check`: reads affinity rules as the manager would, and says what it would leave out."""

import argparse
import sys
from pathlib import Path

from events.errors import UserError
from haes.rules.report import check_report
from haes.rules.values import is_node


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("rules", help="affinity rules")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    check = steps.add_parser("check", help="check a rules file and show what it comes to")
    check.add_argument("file", type=Path, metavar="FILE")
    check.add_argument("--nodes", required=True, metavar="NODE,...", help="the cluster's nodes")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    nodes = read_node_names(options.nodes)
    report, problems = check_report(read_text(options.file), str(options.file), nodes)
    for problem in problems:
        print(f"warning: {problem}", file=sys.stderr)  # noqa: T201
    print(report, end="")  # noqa: T201
    return 0


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
