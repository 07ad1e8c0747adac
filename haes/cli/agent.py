"""`haes agent`: a process that runs the services of one node."""

import argparse
import socket

from events.errors import UserError
from events.url import open_log
from haes.cli.serve import serve
from haes.cli.worker_options import add_worker_options, wanted
from haes.live.agent import AgentWorker
from haes.live.build import build_node
from haes.live.process import Place, configure_logs, owner_name
from haes.live.seen import SeenFile


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("agent")
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

    try:
        serve(options, want, place, log, worker, part="agent")
    finally:
        live.close()
    return 0
