"""`haes logs SERVICE`: what a service prints, wherever it runs."""

import argparse
import asyncio
import getpass
from urllib.parse import urlsplit

from events.errors import UserError
from events.log.port import EventLog
from events.url import connect
from haes.cli.options import add_log_options, no_events, require_log
from haes.live.replica import Replica
from haes.live.said import fetch
from haes.state.cluster import ClusterState

# Lines that are shown unless the user says otherwise, and at most.
LINES, MOST_LINES = 50, 1000
# Seconds between two looks for more with --follow.
FOLLOW_PAUSE = 1.0


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("logs")
    parser.add_argument("resource", metavar="SERVICE", help="for example process:web")
    parser.add_argument("--follow", action="store_true", help="go on with what it prints, also when it moves")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N", help=f"the last N lines (default: {LINES})")
    parser.add_argument("--user", metavar="NAME", help="who asks (default: the log's user, else yours)")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if not 1 <= options.lines <= MOST_LINES:
        raise UserError(f"--lines cannot be {options.lines}; allowed are 1 to {MOST_LINES}")
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    user = options.user or urlsplit(options.log).username or getpass.getuser()
    async with connect(options.log, options.cluster) as log:
        if not (await log.head()).n:
            raise no_events(options.cluster)
        replica = Replica(log)
        await replica.open()
        _node_of(replica.state, options.resource)
        return await _show(log, replica, options, user)


async def _show(log: EventLog, replica: Replica, options: argparse.Namespace, user: str) -> int:
    node, position = "", ""
    while True:
        await replica.catch_up()
        place = _node_of(replica.state, options.resource)
        if place != node:
            if node:
                print(f"-- {options.resource} is on {place} --", flush=True)  # noqa: T201 - printing is its work
            node, position = place, ""
        piece = await fetch(log.side, user, node, options.resource, options.lines, position)
        if piece is None:
            raise UserError(f"the agent of {node} does not answer; is it there? (haes status)")
        for line in piece.lines:
            print(line, flush=True)  # noqa: T201 - printing is its work
        if not options.follow:
            return 0
        position = piece.position
        await asyncio.sleep(FOLLOW_PAUSE)


def _node_of(state: ClusterState, resource: str) -> str:
    record, configuration = state.resources.get(resource), state.configurations.get(resource)
    if record is not None:
        return record.node
    if configuration is None:
        raise UserError(f"there is no resource '{resource}' in cluster '{state.name}'")
    return configuration.node
