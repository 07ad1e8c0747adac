"""`haes agent`: a process that runs the services of one node."""

import argparse
import asyncio
import socket

from events.errors import UserError
from events.url import open_log
from haes.cli.worker_options import add_worker_options, wanted
from haes.live.agent import AgentWorker
from haes.live.build import build_node
from haes.live.process import Place, begin_patiently, configure_logs, dump_state, notify, owner_name, run_until_signal
from haes.live.seen import SeenFile


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("agent", help="run the agent of a node: it starts, stops and moves services")
    add_worker_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    want, node = wanted(options), options.node
    if node not in want.configuration.nodes:
        known = ", ".join(sorted(want.configuration.nodes))
        raise UserError(f"{options.config}: there is no node '{node}'; known are {known}")
    configure_logs(options.log_format, verbose=options.verbose)
    place = Place(want.directory / node, "agent")
    log = open_log(want.log, want.cluster, want.configuration.durability)
    owner = owner_name(node, "lrm", want.directory)
    live = build_node(place.directory, node, want.configuration.nodes[node], lambda: worker.replica.state)
    seen = SeenFile(place.directory / "agent.seen")
    worker = AgentWorker(log, node, live, want.configuration.intervals, owner, socket.gethostname(), seen)

    async def work(stop: asyncio.Event) -> None:
        try:
            if await begin_patiently(log, want.configuration, f"{node}/lrm", stop):
                notify("READY=1")
                await worker.run(stop)
        finally:
            await log.close()

    try:
        run_until_signal(
            work,
            on_reload=lambda: worker.use(wanted(options).configuration.intervals),
            on_dump=lambda: dump_state(place, "agent", worker.replica.state),
        )
    finally:
        live.close()
        place.close()
    return 0
