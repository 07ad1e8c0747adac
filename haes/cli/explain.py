"""`haes explain`: why a resource is where it is; why a motion was chosen; why nothing was done."""

import argparse
import asyncio
import json

from events.errors import UserError
from events.url import connect
from haes.cli.options import add_log_options, require_log
from replay.explain import explain_motion, explain_quiet, explain_resource
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
            raise UserError(f"cluster '{options.cluster}' has no events in this log (--cluster NAME)")
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
            motions = [event for event in events if event.type == "balance.motion"]
            chosen = next((event for event in motions if event.payload["number"] == options.motion), None)
            if chosen is None:
                raise UserError(f"there is no motion {options.motion}; the balancer issued {len(motions)} up to here")
            text = "\n".join(explain_motion(chosen))
            print(json.dumps(dict(chosen.payload), indent=2) if options.json else text)  # noqa: T201
            return 0
        since = await find_point(log, options.quiet_since)
        lines = explain_quiet(events, since.at)
        print(json.dumps(lines, indent=2) if options.json else "\n".join(lines))  # noqa: T201
    return 0
