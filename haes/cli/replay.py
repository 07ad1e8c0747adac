"""`haes replay`: the state that a stream leads to, the journal in its own time, or a walk event by event."""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from math import isfinite
from pathlib import Path

from events.envelope import Event
from events.errors import UserError
from events.history import History
from events.snapshots import SPACING
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, no_events, require_log, warn_of_parked
from haes.cli.show import make_console, show_line, show_tables
from haes.cli.stepping import step_through
from haes.cli.terminal import say, warn
from haes.journal import journal_lines, render_line
from haes.state.cluster import ClusterState
from haes.state.restore import replay_state
from haes.state.snapshots import write_snapshots
from replay.history import open_history
from replay.play import play
from replay.points import find_begin, find_point
from replay.report import headline, summary, tables

AT_ONCE = 0.0


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "replay",
        description="Points are a number, a stream id, @SECONDS, a time, or -5m (before the end).",
    )
    parser.add_argument("--at", metavar="POINT", help="the state then")
    parser.add_argument("--from", metavar="POINT", dest="begin", help="play the journal from there on")
    parser.add_argument("--until", metavar="POINT", help="play the journal, or walk, up to there")
    parser.add_argument(
        "--speed",
        metavar="N",
        type=_speed,
        help="play the journal, so many seconds in one; 0 or max prints at once (default: max)",
    )
    parser.add_argument("--step", action="store_true", help="walk through the events one by one")
    parser.add_argument(
        "--write-snapshots",
        type=int,
        nargs="?",
        const=SPACING,
        metavar="EVERY",
        help=f"keep a snapshot after every so many events (default {SPACING}), from which --at then starts",
    )
    add_archive_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON; playing and walking print one object a line")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def _speed(text: str) -> float:
    if text == "max":
        return AT_ONCE
    try:
        speed = float(text)
    except ValueError:
        speed = -1
    if speed < 0 or not isfinite(speed):
        raise argparse.ArgumentTypeError(f"cannot be '{text}'; allowed is a number from 0 on, or max")
    return speed


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if options.write_snapshots is not None:
        return _write_snapshots(options)
    plays = options.begin is not None or options.until is not None or options.speed is not None
    if options.at is not None and (plays or options.step):
        raise UserError("--at shows a state; it does not go with --from, --until, --speed or --step")
    if options.step:
        if options.speed is not None:
            raise UserError("--step goes at your pace; it does not go with --speed")
        step_through(options)
    elif plays:
        asyncio.run(_play(options))
    else:
        state = asyncio.run(_replay(options.log, options.cluster, options.at, options.archive))
        warn_of_parked(state)
        if options.json:
            print(json.dumps(summary(state), indent=2))  # noqa: T201
        else:
            show_state(state)
    return 0


def _write_snapshots(options: argparse.Namespace) -> int:
    if any(word is not None for word in (options.at, options.begin, options.until, options.speed)) or options.step:
        raise UserError(
            "--write-snapshots covers the whole stream; it goes with no --at, --from, --until, --speed or --step"
        )
    if options.write_snapshots < 1:
        raise UserError(f"--write-snapshots {options.write_snapshots}: expected a number of events from 1 on")
    numbers = asyncio.run(_write(options))
    if options.json:
        print(json.dumps({"snapshots": numbers}))  # noqa: T201
    else:
        say(f"{len(numbers)} snapshots, up to the events {', '.join(map(str, numbers)) or 'none'}")
    return 0


async def _write(options: argparse.Namespace) -> list[int]:
    async with connect(options.log, options.cluster) as log:
        return await write_snapshots(await open_history(log, options.archive), options.write_snapshots)


async def _replay(url: str, cluster: str, at: str | None, folder: Path | None) -> ClusterState:
    async with connect(url, cluster) as log:
        history = await open_history(log, folder)
        state = await replay_state(history, None if at is None else (await find_point(history, at)).n)
    if not state.n:
        raise no_events(cluster)
    if at is not None and at.isascii() and at.isdigit() and int(at) > state.n:
        warn(f"there is no event {at} yet; this is the end, event {state.n}")
    return state


async def _play(options: argparse.Namespace) -> None:
    console = make_console()
    async with connect(options.log, options.cluster) as log:
        if not (await log.head()).n:
            raise no_events(options.cluster)
        history = await open_history(log, options.archive)
        before = 0 if options.begin is None else (await find_begin(history, options.begin)).n
        last = None if options.until is None else (await find_point(history, options.until)).n
        async for event in play(_told(history, before, last), options.speed or AT_ONCE):
            lines = journal_lines(event)
            if options.json:
                data = {"n": event.n, "at": event.at, "type": event.type, "subject": event.subject, "by": event.by}
                print(json.dumps(data | {"journal": [render_line(line) for line in lines]}), flush=True)  # noqa: T201
            else:
                for line in lines:
                    show_line(console, line)


async def _told(history: History, before: int, last: int | None) -> AsyncIterator[Event]:
    """Yields the events of a stretch that the journal has a line for; the others would only be a pause."""
    async with aclosing(history.events(before, last)) as events:
        async for event in events:
            if journal_lines(event):
                yield event


def show_state(state: ClusterState) -> None:
    """Prints a state as tables."""
    console = make_console()
    say(headline(state))
    show_tables(console, tables(state))
