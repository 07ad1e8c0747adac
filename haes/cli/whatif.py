"""`haes whatif`: the recorded story again with other settings, and what would have been different."""

import argparse
import asyncio
import json

from events.errors import UserError
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, require_log
from replay.again import recorded_scenario, run_again
from replay.history import open_history
from replay.whatif import compare


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("whatif", help="what other settings would have done")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help="a setting to change"
    )
    add_archive_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if not options.overrides:
        raise UserError("whatif needs at least one --set KEY=VALUE")
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    async with connect(options.log, options.cluster) as log:
        history = await open_history(log, options.archive)
        recorded = [event async for event in history.events()]
    if not recorded:
        raise UserError(f"cluster '{options.cluster}' has no events in this log (--cluster NAME)")
    comparison = compare(recorded, await run_again(recorded_scenario(recorded), options.overrides))
    print(json.dumps(comparison.to_data(), indent=2) if options.json else comparison.to_text())  # noqa: T201
    return 0
