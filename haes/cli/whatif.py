"""`haes whatif`: the recorded story again with other settings, and what would have been different."""

import argparse
import asyncio
import json
from contextlib import aclosing
from typing import TYPE_CHECKING

from events.errors import UserError
from events.history import History
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, no_events, require_log
from haes.simulation.scenario import Scenario
from haes.telemetry import STREAM
from replay.decisions import essence
from replay.history import open_history, wanted_events
from replay.points import find_point
from replay.recording import read_recording

# Deciding again takes the scheduling and numpy, which are loaded when it comes to that.
if TYPE_CHECKING:
    from replay.whatif import Comparison, PlayedComparison


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("whatif")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help="a setting to change"
    )
    parser.add_argument(
        "--from", metavar="POINT", dest="begin", help="change the settings there (default: from the start)"
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
        history = await open_history(log, options.archive, lenient=False)
        if not (await log.head()).n:
            raise no_events(options.cluster)
        scenario = await _scenario(history)
        comparison = await (
            _compare_played(history, options) if scenario is None else _compare(history, scenario, options)
        )
    print(json.dumps(comparison.to_data(), indent=2) if options.json else comparison.to_text())  # noqa: T201
    return 0


async def _scenario(history: History) -> Scenario | None:
    """Returns the inputs of the simulation that wrote the stream, None when it is that of a live cluster."""
    from replay.again import recorded_scenario

    async with aclosing(wanted_events(history, lambda type_, _: type_ == b"simulation.started")) as events:
        async for event in events:
            return recorded_scenario([event])
    return None


async def _compare(history: History, scenario: Scenario, options: argparse.Namespace) -> "Comparison":
    from replay.again import run_again
    from replay.whatif import compare

    recorded = [event async for event in history.events()]
    since = 0 if options.begin is None else (await find_point(history, options.begin)).n
    before = await run_again(scenario)
    if [essence(event) for event in before.events] != [essence(event) for event in recorded[: len(before.events)]]:
        raise UserError("the recorded story does not come out again (haes verify says where), so none compares with it")
    if since >= len(before.events):
        raise UserError(f"--from {options.begin}: the simulation had ended by then, at event {len(before.events)}")
    return compare(before, await run_again(scenario, options.overrides, since), scenario.settings, since)


async def _compare_played(history: History, options: argparse.Namespace) -> "PlayedComparison":
    from replay.stage import play_again
    from replay.whatif import compare_played

    recording = await read_recording(history, await history.log.side.read_all(STREAM), options.begin)
    return compare_played(recording, await play_again(recording), await play_again(recording, options.overrides))
