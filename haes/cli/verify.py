"""`haes verify`: whether a stream is sound; status 1 when something is wrong with it."""

import argparse
import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, no_events, require_log
from haes.cli.terminal import say
from replay.history import open_history

if TYPE_CHECKING:
    from replay.verify import Report


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("verify")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_archive_option(parser)
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    report = asyncio.run(_verify(options))
    if options.json:
        print(json.dumps(asdict(report), indent=2))  # noqa: T201
    else:
        lines = [f"{name}: {text}" for name, text in report.checks.items()]
        lines += [f"PARKED: {subject}: {reason}" for subject, reason in report.parked.items()]
        lines += [f"WRONG at event {item.n} ({item.check}): {item.text}" for item in report.findings]
        lines.append(f"{report.events} events, {len(report.findings)} findings")
        say(*lines)
    return 1 if report.findings else 0


async def _verify(options: argparse.Namespace) -> "Report":
    # Deciding again takes the scheduling and numpy.
    from replay.verify import verify

    async with connect(options.log, options.cluster) as log:
        report = await verify(await open_history(log, options.archive, lenient=False))
    if not report.events and not report.findings:
        raise no_events(options.cluster)
    return report
