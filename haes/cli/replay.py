"""`haes replay`: the state that a stream leads to."""

import argparse
import asyncio
import json

from events.errors import UserError
from events.url import connect
from haes.cli.options import add_log_options, require_log
from haes.cli.show import make_console, show_tables
from haes.state.cluster import ClusterState
from haes.state.restore import restore_state
from replay.points import find_point
from replay.report import headline, summary, tables


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("replay", help="show the state that the stream leads to")
    parser.add_argument("--at", metavar="POINT", help="the state then: a number, a stream id, @SECONDS, a time, or -5m")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    state = asyncio.run(_replay(options.log, options.cluster, options.at))
    if options.json:
        print(json.dumps(summary(state), indent=2))  # noqa: T201
    else:
        show_state(state)
    return 0


async def _replay(url: str, cluster: str, at: str | None) -> ClusterState:
    async with connect(url, cluster) as log:
        state = await restore_state(log, None if at is None else (await find_point(log, at)).n)
    if not state.n:
        raise UserError(f"cluster '{cluster}' has no events in this log (--cluster NAME)")
    return state


def show_state(state: ClusterState) -> None:
    """Prints a state as tables."""
    console = make_console()
    console.print(headline(state))
    show_tables(console, tables(state))
