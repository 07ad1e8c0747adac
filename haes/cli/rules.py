"""`haes rules check`: reads affinity rules as the manager would, and says what it would leave out."""

import argparse
import sys
from pathlib import Path

from events.errors import UserError
from haes.rules.report import check_report


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
    nodes = [node for node in options.nodes.split(",") if node]
    if not nodes:
        raise UserError("--nodes names no node; expected a list such as node1,node2,node3")
    report, problems = check_report(read_text(options.file), str(options.file), nodes)
    for problem in problems:
        print(f"warning: {problem}", file=sys.stderr)  # noqa: T201
    print(report, end="")  # noqa: T201
    return 0


def read_text(path: Path) -> str:
    """Returns a file's text.

    Raises:
        UserError: the file is missing, cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from error
