"""`haes explain`: why a resource is where it is; why a motion was chosen; why nothing was done."""

import argparse
import asyncio
import json

from events.errors import UserError
from events.url import connect
from haes.cli.options import add_log_options, no_events, require_log
from replay.explain import explain_resource
from replay.explain_motion import end_lines, explain_motion, find_motion, motion_ends
from replay.explain_quiet import explain_quiet
from replay.points import find_begin, find_point


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "explain", help="why a resource is where it is, and why the balancer did what it did"
    )
    parser.add_argument("resource", nargs="?", metavar="RESOURCE")
    parser.add_argument("--at", metavar="POINT", help="as of this point")
    parser.add_argument("--motion", type=int, metavar="N", help="why the balancer chose motion N")
    parser.add_argument("--quiet-since", metavar="POINT", help="why the balancer did nothing since then")
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
        events = [event async for event in log.read_all()]
        if not events:
            raise no_events(options.cluster)
        if options.at is not None:
            point = await find_point(log, options.at)
            events = events[: point.n - events[0].n + 1]
        if options.resource is not None:
            explanation, state = explain_resource(events, options.resource)
            if options.resource not in state.configurations and options.resource not in state.resources:
                raise UserError(
                    f"there is no resource '{options.resource}' in cluster '{options.cluster}' at this point"
                )
            print(json.dumps(explanation.to_data(), indent=2) if options.json else explanation.to_text())  # noqa: T201
            return 0
        if options.motion is not None:
            chosen = find_motion(events, options.motion)
            ends = motion_ends(events, chosen)
            if options.json:
                print(json.dumps({"n": chosen.n, "at": chosen.at, **chosen.payload, "ends": ends}, indent=2))  # noqa: T201
            else:
                print("\n".join([*explain_motion(chosen), *end_lines(ends)]))  # noqa: T201
            return 0
        since = await find_begin(log, options.quiet_since)
        quiet = explain_quiet(events, since.n, since.at)
        print(json.dumps(quiet.to_data(), indent=2) if options.json else quiet.to_text())  # noqa: T201
    return 0
