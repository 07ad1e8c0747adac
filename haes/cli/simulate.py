"""`haes simulate`: runs scenarios, prints or compares their journals, and checks that the stream alone tells all."""

import argparse
import asyncio
import difflib
from dataclasses import dataclass, field
from pathlib import Path

from events.envelope import Event
from events.errors import UserError
from events.log.port import EventLog
from events.url import connect
from haes.cli.options import add_log_options, free_cluster
from haes.cli.terminal import warn
from haes.journal import journal_lines, render_line
from haes.settings import warnings_for
from haes.simulation.run import simulate
from haes.simulation.scenario import Scenario, load_scenario
from haes.state import ClusterState
from haes.state.fold import apply_event

MEMORY = "memory:"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("simulate")
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a scenario's folder")
    parser.add_argument("--expect", metavar="NAME", help="compare each journal with the file DIR/NAME")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help="override a setting"
    )
    parser.add_argument(
        "--verify", action="store_true", help="rebuild journal and state from the stream alone and compare"
    )
    add_log_options(parser, default=MEMORY)
    parser.set_defaults(run=run)


@dataclass(slots=True)
class Outcome:
    """What came of one scenario: its journal, and what the verification found."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    scenarios = [(folder, load_scenario(folder, options.overrides)) for folder in options.folders]
    for warning in sorted({warning for _, scenario in scenarios for warning in warnings_for(scenario.settings)}):
        warn(f"warning: {warning}")
    if options.expect is None:
        if len(scenarios) > 1:
            raise UserError("several scenarios can only be compared (--expect NAME), not printed")
        return asyncio.run(_print_one(options, scenarios[0][1]))
    return asyncio.run(_compare_all(options, scenarios))


async def _print_one(options: argparse.Namespace, scenario: Scenario) -> int:
    async with connect(options.log, options.cluster) as log:
        outcome = Outcome()

        def show(event: Event) -> None:
            for text in _text_lines(event):
                outcome.lines.append(text)
                print(text)  # noqa: T201

        state = await simulate(scenario, log, show)
        if options.verify:
            await _verify(log, state, outcome)
    return _report(outcome.problems)


def _report(problems: list[str]) -> int:
    for problem in problems:
        warn(f"haes: {problem}")
    return 1 if problems else 0


async def _compare_all(options: argparse.Namespace, scenarios: list[tuple[Path, Scenario]]) -> int:
    # One connection stays open for all, so that an embedded server starts once.
    async with connect(options.log, options.cluster):
        return await _compare_each(options, scenarios)


async def _compare_each(options: argparse.Namespace, scenarios: list[tuple[Path, Scenario]]) -> int:
    passed = failed = skipped = 0
    for number, (folder, scenario) in enumerate(scenarios):
        expected_path = folder / options.expect
        if not expected_path.is_file():
            skipped += 1
            continue
        # Each scenario is a cluster of its own; with a single one the name is the user's.
        cluster = options.cluster
        if len(scenarios) > 1:
            cluster = await free_cluster(options.log, f"{options.cluster}-{number}")
        outcome = await _run_one(options, scenario, cluster)
        expected = expected_path.read_text(encoding="utf-8").splitlines()
        if outcome.lines == expected and not outcome.problems:
            passed += 1
            continue
        failed += 1
        diff = difflib.unified_diff(expected, outcome.lines, str(expected_path), f"{folder} (run)", lineterm="")
        for line in (*diff, *(f"{folder}: {problem}" for problem in outcome.problems)):
            print(line)  # noqa: T201
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))  # noqa: T201
    if failed:
        return 1
    return 2 if skipped and not passed else 0


async def _run_one(options: argparse.Namespace, scenario: Scenario, cluster: str) -> Outcome:
    outcome = Outcome()

    def keep(event: Event) -> None:
        outcome.lines.extend(_text_lines(event))

    async with connect(options.log, cluster) as log:
        try:
            state = await simulate(scenario, log, keep)
        except UserError as error:
            outcome.problems.append(str(error))
            return outcome
        if options.verify:
            await _verify(log, state, outcome)
    return outcome


def _text_lines(event: Event) -> list[str]:
    return [text for line in journal_lines(event) for text in render_line(line).split("\n")]


async def _verify(log: EventLog, state: ClusterState, outcome: Outcome) -> None:
    """Throws everything away but the stream: journal and state made from it must be those of the run."""
    replayed, lines = ClusterState(), list[str]()
    async for event in log.read_all():
        apply_event(replayed, event)
        lines.extend(_text_lines(event))
    if lines != outcome.lines:
        outcome.problems.append("the journal rendered from the stream differs from that of the run")
    if replayed.to_data() != state.to_data():
        differing = [key for key, value in state.to_data().items() if replayed.to_data()[key] != value]
        outcome.problems.append(f"the state folded from the stream differs from that of the run: {differing}")
    if replayed.parked:
        outcome.problems.append(f"events could not be applied: {replayed.parked}")
