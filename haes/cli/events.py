"""`haes events`: the stream itself, event by event, as it was or as it comes."""

import argparse
import asyncio
import getpass
import json
import socket
import sys
from collections.abc import AsyncIterator
from fnmatch import fnmatchcase

from rich.console import Console
from rich.text import Text

from events.envelope import Event
from events.errors import UserError
from events.history import History
from events.log.port import EventLog
from events.readers import Registration
from events.url import connect
from haes.cli.options import add_log_options, require_log
from haes.cli.show import LEVEL_STYLES, make_console
from haes.cli.status import time_of
from haes.cli.terminal import one_line
from haes.journal import journal_lines
from haes.live.follow import follow, follow_registered
from replay.points import find_point


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("events")
    parser.add_argument("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    parser.add_argument("--subject", metavar="NAME", help="only events about it; * stands for anything")
    parser.add_argument("--type", metavar="TYPE", help="only events of this type; * stands for anything")
    parser.add_argument("--since", metavar="POINT", help="only events after it: a number, a stream id, a time, or -5m")
    parser.add_argument(
        "--reader",
        metavar="NAME",
        help="go on where the reader of this name stopped; until it has read them, events are not trimmed",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if options.reader is not None and options.since is not None:
        raise UserError("--reader goes on where it stopped; it does not go with --since")
    asyncio.run(_run(options))
    return 0


async def _run(options: argparse.Namespace) -> None:
    console = make_console()
    async with connect(options.log, options.cluster) as log:
        async for event in await _events(log, options):
            if fnmatchcase(event.subject, options.subject or "*") and fnmatchcase(event.type, options.type or "*"):
                _show(console, event, as_json=options.json)


async def _events(log: EventLog, options: argparse.Namespace) -> AsyncIterator[Event]:
    if options.reader is not None:
        registration = Registration(log, options.reader, f"{getpass.getuser()}@{socket.gethostname()}")
        await registration.begin()
        return follow_registered(log, registration, sys.stdout.flush, wait=options.follow)
    after = 0 if options.since is None else (await find_point(History(log), options.since)).n
    return follow(log, after) if options.follow else log.read_all(after, lenient=True)


def _show(console: Console, event: Event, *, as_json: bool) -> None:
    if as_json:
        console.print(json.dumps(event_data(event)))
        return
    line = f"{event.n:>7}  {time_of(event.at)}  {event.type:<28} {event.subject:<16} {event.by:<16} {event.about}"
    style = next((LEVEL_STYLES.get(item.level.strip(), "") for item in journal_lines(event)), "dim")
    console.print(Text(one_line(line.rstrip()), style=style))


def event_data(event: Event) -> dict[str, object]:
    """Returns everything that an event says, as JSON-like data."""
    return {
        "n": event.n,
        "id": event.id,
        "type": event.type,
        "subject": event.subject,
        "by": event.by,
        "at": event.at,
        "epoch": event.epoch,
        "about": event.about,
        "late": event.late,
        "cause": event.cause,
        "correlation": event.correlation,
        "version": event.version,
        "payload": dict(event.payload),
    }
