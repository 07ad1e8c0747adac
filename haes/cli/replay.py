"""`haes replay`: the state that a stream leads to, or led to at any point; snapshots that make this quick."""

import argparse
import asyncio
import json
from pathlib import Path

from events.errors import UserError
from events.snapshots import SPACING
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, require_log
from haes.cli.show import make_console, show_tables
from haes.state.cluster import ClusterState
from haes.state.restore import replay_state
from haes.state.snapshots import write_snapshots
from replay.history import open_history
from replay.points import find_point
from replay.report import headline, summary, tables


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("replay", help="show the state that the stream leads to")
    parser.add_argument("--at", metavar="POINT", help="the state then: a number, a stream id, @SECONDS, a time, or -5m")
    parser.add_argument(
        "--write-snapshots",
        type=int,
        nargs="?",
        const=SPACING,
        metavar="EVERY",
        help=f"keep a snapshot after every so many events (default {SPACING}), from which --at then starts",
    )
    add_archive_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if options.write_snapshots is not None:
        return _write_snapshots(options)
    state = asyncio.run(_replay(options.log, options.cluster, options.at, options.archive))
    if options.json:
        print(json.dumps(summary(state), indent=2))  # noqa: T201
    else:
        show_state(state)
    return 0


def _write_snapshots(options: argparse.Namespace) -> int:
    if options.at is not None:
        raise UserError("--write-snapshots covers the whole stream and cannot be used with --at")
    if options.write_snapshots < 1:
        raise UserError(f"--write-snapshots {options.write_snapshots}: expected a number of events from 1 on")
    numbers = asyncio.run(_write(options))
    if options.json:
        print(json.dumps({"snapshots": numbers}))  # noqa: T201
    else:
        print(f"{len(numbers)} snapshots, up to the events {', '.join(map(str, numbers)) or 'none'}")  # noqa: T201
    return 0


async def _write(options: argparse.Namespace) -> list[int]:
    async with connect(options.log, options.cluster) as log:
        return await write_snapshots(await open_history(log, options.archive), options.write_snapshots)


async def _replay(url: str, cluster: str, at: str | None, folder: Path | None) -> ClusterState:
    async with connect(url, cluster) as log:
        history = await open_history(log, folder)
        state = await replay_state(history, None if at is None else (await find_point(history, at)).n)
    if not state.n:
        raise UserError(f"cluster '{cluster}' has no events in this log (--cluster NAME)")
    return state


def show_state(state: ClusterState) -> None:
    """Prints a state as tables."""
    console = make_console()
    console.print(headline(state))
    show_tables(console, tables(state))
