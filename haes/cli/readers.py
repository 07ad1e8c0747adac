"""`haes readers`: who still has to read what, and so keeps it in the stream; and forgetting who will not come back."""

import argparse
import asyncio
import getpass
import json

from events.errors import UserError
from events.log.port import EventLog
from events.readers import forget_reader, waiting_readers
from events.url import connect
from haes.cli.options import add_log_options, require_log
from haes.cli.show import make_console, show_tables
from replay.report import Table


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("readers")
    parser.add_argument("action", nargs="?", choices=("list", "forget"), default="list")
    parser.add_argument("reader", nargs="?", metavar="NAME", help="with forget: whose registration is to end")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if (options.action == "forget") != (options.reader is not None):
        raise UserError("readers: expected 'list', or 'forget NAME' (see haes readers list)")
    asyncio.run(_run(options))
    return 0


async def _run(options: argparse.Namespace) -> None:
    async with connect(options.log, options.cluster) as log:
        if options.action == "forget" and not await forget_reader(log, options.reader, getpass.getuser()):
            raise UserError(f"there is no reader '{options.reader}'; it must have been started with --reader")
        await _list(log, as_json=options.json)


async def _list(log: EventLog, *, as_json: bool) -> None:
    head, leases = await log.head(), await log.leases()
    readers = waiting_readers(leases)
    if as_json:
        print(json.dumps([{"reader": name, "read": n, "behind": head.n - n} for name, n in readers.items()]))  # noqa: T201
        return
    rows: list[tuple[str, ...]] = [(name, str(n), str(head.n - n)) for name, n in readers.items()]
    show_tables(make_console(), [Table("Readers", ("reader", "has read", "behind"), rows, "nobody is registered")])
