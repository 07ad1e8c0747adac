"""`haes log`: the log itself: what it is, and accepting it when it is not what it was."""

import argparse
import asyncio

from events.url import connect
from haes.cli.options import add_log_options, require_log
from haes.cli.terminal import say
from haes.live.by_hand import append_by_hand


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("log")
    parser.add_argument(
        "action",
        choices=("show", "accept-regression"),
        help="accept-regression: let managers and agents go on with this log although they knew another one",
    )
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    asyncio.run(_run(options))
    return 0


async def _run(options: argparse.Namespace) -> None:
    async with connect(options.log, options.cluster) as log:
        head = await log.head()
        say(
            f"log {head.log_id} of cluster '{options.cluster}': generation {head.generation}, {head.n} events",
        )
        for warning in log.warnings:
            say(f"warning: {warning}")
        if options.action == "show":
            return
        about = f"{head.n} events"
        await append_by_hand(log, "log.accepted", "log", about=about, n=head.n, log_id=head.log_id)
        say("accepted; managers and agents that waited go on with it")
