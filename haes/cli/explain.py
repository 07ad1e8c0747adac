"""`haes explain`: why a resource is where it is; why a motion was chosen; why nothing was done."""

import argparse
import asyncio
import json
from contextlib import aclosing
from typing import Any

from events.errors import UserError
from events.history import History
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, require_log
from replay.explain import explain_history, explain_motion, explain_quiet
from replay.history import open_history, wanted_events
from replay.points import find_point


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "explain", help="why a resource is where it is, and why the balancer did what it did"
    )
    parser.add_argument("resource", nargs="?", metavar="RESOURCE")
    parser.add_argument("--at", metavar="POINT", help="as of this point")
    parser.add_argument("--motion", type=int, metavar="N", help="why the balancer chose motion N")
    parser.add_argument("--quiet-since", metavar="POINT", help="why the balancer did nothing since then")
    add_archive_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
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
            raise UserError(f"cluster '{options.cluster}' has no events in this log (--cluster NAME)")
        history = await open_history(log, options.archive)
        last = None if options.at is None else (await find_point(history, options.at)).n
        if options.resource is not None:
            said, text = await _resource(history, options, last)
        elif options.motion is not None:
            said, text = await _motion(history, options.motion, last)
        else:
            since = await find_point(history, options.quiet_since)
            balance = wanted_events(history, lambda type_, _: type_.startswith(b"balance."), last)
            lines = explain_quiet([event async for event in balance], since.at)
            said, text = lines, "\n".join(lines)
    print(json.dumps(said, indent=2) if options.json else text)  # noqa: T201
    return 0


async def _resource(history: History, options: argparse.Namespace, last: int | None) -> tuple[Any, str]:
    explanation, state = await explain_history(history, options.resource, last)
    if options.resource not in state.configurations and options.resource not in state.resources:
        raise UserError(f"there is no resource '{options.resource}' in cluster '{options.cluster}' at this point")
    return explanation.to_data(), explanation.to_text()


async def _motion(history: History, number: int, last: int | None) -> tuple[Any, str]:
    motions = 0
    async with aclosing(wanted_events(history, lambda type_, _: type_ == b"balance.motion", last)) as chosen:
        async for event in chosen:
            motions += 1
            if event.payload["number"] == number:
                return dict(event.payload), "\n".join(explain_motion(event))
    raise UserError(f"there is no motion {number}; the balancer issued {motions} up to here")
