"""`haes explain`: why a resource is where it is; why a motion was chosen; why nothing was done."""

import argparse
import asyncio
import json
from typing import Any

from events.errors import UserError
from events.history import History
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, no_events, require_log, warn_of_parked
from haes.cli.terminal import say
from replay.explain import explain_resource
from replay.explain_motion import end_lines, explain_motion, find_motion, find_plan, motion_ends
from replay.explain_quiet import explain_quiet
from replay.history import open_history, wanted_events
from replay.points import find_begin, find_point


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("explain")
    parser.add_argument("resource", nargs="?", metavar="RESOURCE")
    parser.add_argument("--at", metavar="POINT", help="as of this point")
    parser.add_argument("--motion", type=int, metavar="N", help="why the balancer chose motion N")
    parser.add_argument("--quiet-since", metavar="POINT", help="why the balancer did nothing since then")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_archive_option(parser)
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if sum(value is not None for value in (options.resource, options.motion, options.quiet_since)) != 1:
        raise UserError("explain needs one of RESOURCE, --motion N, --quiet-since POINT")
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    async with connect(options.log, options.cluster) as log:
        if not (await log.head()).n:
            raise no_events(options.cluster)
        history = await open_history(log, options.archive)
        last = None if options.at is None else (await find_point(history, options.at)).n
        if options.resource is not None:
            said, lines = await _resource(history, options, last)
        elif options.motion is not None:
            said, lines = await _motion(history, options.motion, last)
        else:
            since = await find_begin(history, options.quiet_since)
            quiet = await explain_quiet(history, since.n, since.at, last)
            said, lines = quiet.to_data(), quiet.to_lines()
    if options.json:
        print(json.dumps(said, indent=2))  # noqa: T201
    else:
        say(*lines)
    return 0


async def _resource(history: History, options: argparse.Namespace, last: int | None) -> tuple[Any, list[str]]:
    explanation, state = await explain_resource(history, options.resource, last)
    if options.resource not in state.configurations and options.resource not in state.resources:
        raise UserError(f"there is no resource '{options.resource}' in cluster '{options.cluster}' at this point")
    warn_of_parked(state)
    return explanation.to_data(), explanation.to_lines()


async def _motion(history: History, number: int, last: int | None) -> tuple[Any, list[str]]:
    balance = wanted_events(history, lambda type_, _: type_.startswith(b"balance."), last)
    events = [event async for event in balance]
    chosen = find_motion(events, number)
    ends = motion_ends(events, chosen)
    said = {"n": chosen.n, "at": chosen.at, **chosen.payload, "ends": ends}
    return said, [*explain_motion(chosen, find_plan(events, chosen)), *end_lines(ends)]
