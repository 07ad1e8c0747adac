"""`haes manager`: a process that leads the cluster, or stands by to do so."""

import argparse

from events.errors import UserError
from events.url import open_log
from haes.cli.serve import serve
from haes.cli.worker_options import add_worker_options, wanted
from haes.live.archivist import Archivist
from haes.live.manager import ManagerWorker
from haes.live.process import Place, configure_logs, owner_name
from haes.live.seen import SeenFile


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("manager")
    add_worker_options(parser)
    parser.add_argument(
        "--apart", action="store_true", help="it runs on a host that is no node of the cluster; NAME is its own"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    want = wanted(options)
    if (options.node in want.configuration.nodes) == options.apart:
        known = ", ".join(sorted(want.configuration.nodes))
        what = "is a node, so --apart is wrong" if options.apart else "is no node, so --apart is missing"
        raise UserError(f"{options.config}: '{options.node}' {what}; nodes are {known}")
    configure_logs(options.log_format, verbose=options.verbose)
    place = Place(want.directory / options.node, "manager")
    log = open_log(want.log, want.cluster, want.configuration.durability)
    seen = SeenFile(place.directory / "manager.seen")
    owner = owner_name(options.node, "crm", want.directory)
    configuration = want.configuration
    archiving = configuration.archiving
    archivist = None if archiving is None else Archivist(archiving, want.log, want.cluster)
    worker = ManagerWorker(log, options.node, configuration.intervals, owner, seen, archivist)

    serve(options, want, place, log, worker, part="manager")
    return 0
