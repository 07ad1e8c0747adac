"""`haes rebalance`: what the balancer remembers; asking it for advice; letting it try again what failed."""

import argparse
import asyncio
import json

from events.errors import UserError
from events.url import connect
from haes.cli.operate import Request, add_request_options, submit
from haes.cli.options import add_log_options, no_events, require_log
from haes.cli.show import make_console, show_tables
from haes.cli.terminal import say
from haes.state.cluster import ClusterState
from haes.state.restore import restore_state
from replay.report import balance_tables, headline, summary


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("rebalance")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    status = steps.add_parser("status", help="what the balancer remembers, and why it last did nothing")
    status.add_argument("--json", action="store_true", help="print JSON")
    advise = steps.add_parser(
        "advise", help="ask the leader what the balancer would do now; it answers in its next round"
    )
    retry = steps.add_parser("retry", help="forget failures of all, of one resource, or of one pair")
    retry.add_argument("resource", nargs="?", default="", metavar="RESOURCE", help="default: all resources")
    retry.add_argument("--target", default="", metavar="NODE", help="only motions to this node")
    add_log_options(status, default=None)
    for step in (advise, retry):
        add_request_options(step)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs one step and returns the exit status."""
    require_log(options)
    state = asyncio.run(_state(options.log, options.cluster))
    if options.step == "status":
        _show(state, as_json=options.json)
        return 0
    return submit(options, [_request(options, state)])


async def _state(url: str, cluster: str) -> ClusterState:
    async with connect(url, cluster) as log:
        state = await restore_state(log)
    if not state.n:
        raise no_events(cluster)
    return state


def _show(state: ClusterState, *, as_json: bool) -> None:
    if as_json:
        said = summary(state)
        keys = ("cluster", "n", "at", "pending", "balance", "failures", "cooldowns")
        print(json.dumps({key: said[key] for key in keys}, indent=2))  # noqa: T201
    else:
        console = make_console()
        say(headline(state))
        show_tables(console, balance_tables(state))


def _request(options: argparse.Namespace, state: ClusterState) -> Request:
    if options.step == "advise":
        return "rebalance-advise", []
    if options.resource and options.resource not in state.configurations:
        raise UserError(f"there is no resource '{options.resource}' in cluster '{options.cluster}'")
    if options.target and options.target not in state.members:
        known = ", ".join(sorted(state.members))
        raise UserError(f"--target {options.target}: is no node of this cluster; known are {known}")
    return "rebalance-retry", [options.resource, options.target]
