"""`haes rebalance`: what the balancer remembers; asking it for advice; letting it try again what failed."""

import argparse
import asyncio
import getpass
import json

from events.errors import UserError
from events.log.port import EventLog
from events.url import connect
from haes.cli.options import add_log_options, require_log
from haes.cli.show import make_console, show_tables
from haes.commands import send_command
from haes.state.restore import restore_state
from replay.report import balance_tables, headline, summary


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("rebalance", help="the balancer: status, advice, retrying what failed")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    status = steps.add_parser("status", help="what the balancer remembers, and why it last did nothing")
    status.add_argument("--json", action="store_true", help="print JSON")
    advise = steps.add_parser(
        "advise", help="ask the leader what the balancer would do now; it answers in its next round"
    )
    retry = steps.add_parser("retry", help="forget failures of all, of one resource, or of one pair")
    retry.add_argument("resource", nargs="?", default="", metavar="RESOURCE", help="default: all resources")
    retry.add_argument("--target", default="", metavar="NODE", help="only motions to this node")
    for step in (status, advise, retry):
        add_log_options(step, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs one step and returns the exit status."""
    require_log(options)
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    async with connect(options.log, options.cluster) as log:
        state = await restore_state(log)
        if not state.n:
            raise UserError(f"cluster '{options.cluster}' has no events in this log (--cluster NAME)")
        if options.step == "status":
            if options.json:
                said = summary(state)
                keys = ("cluster", "n", "at", "pending", "balance", "failures", "cooldowns")
                print(json.dumps({key: said[key] for key in keys}, indent=2))  # noqa: T201
            else:
                console = make_console()
                console.print(headline(state))
                show_tables(console, balance_tables(state))
        elif options.step == "advise":
            await _ask(log, "rebalance-advise", [])
        else:
            if options.resource and options.resource not in state.configurations:
                raise UserError(f"there is no resource '{options.resource}' in cluster '{options.cluster}'")
            if options.target and options.target not in state.members:
                known = ", ".join(sorted(state.members))
                raise UserError(f"--target {options.target}: is no node of this cluster; known are {known}")
            await _ask(log, "rebalance-retry", [options.resource, options.target])
    return 0


async def _ask(log: EventLog, verb: str, arguments: list[str]) -> None:
    number = await send_command(log, verb, arguments, getpass.getuser())
    print(f"command {number} is on the stream; the leader acts on it in its next round")  # noqa: T201
