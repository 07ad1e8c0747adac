"""`haes demo`, which `make run` calls: a failing migration on a private Redis, and what the stream says at the end."""

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path

from events.envelope import Event
from events.errors import UserError
from events.url import connect
from haes.cli.options import free_cluster
from haes.cli.replay import show_state
from haes.cli.show import make_console, show_line
from haes.journal import journal_lines
from haes.simulation.run import simulate
from haes.simulation.scenario import Scenario, load_scenario
from haes.state.cluster import ClusterState
from haes.state.restore import restore_state

EXAMPLE = Path("examples") / "failing-motion"
LOG = "embedded:var/demo"
CLUSTER = "demo"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("demo")
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    if not EXAMPLE.is_dir():
        raise UserError(f"{EXAMPLE}: no such folder; run this from the folder that holds the README")
    console = make_console()
    console.print(f"A simulated cluster on a private Redis ({LOG}), every change an event on a stream:\n")
    cluster, state = asyncio.run(_live_through())
    show_state(state)
    console.print("\nTry next:")
    console.print(f"  .venv/bin/haes simulate {EXAMPLE} --set ha-auto-rebalance-backoff=series")
    console.print(f"  .venv/bin/haes replay --log {LOG} --cluster {cluster} --json")
    return 0


async def _live_through() -> tuple[str, ClusterState]:
    """Simulates the example, printing its journal; returns the cluster's name and what a replay leads to."""
    console = make_console()

    def show(event: Event) -> None:
        for line in journal_lines(event):
            show_line(console, line)

    scenario = load_scenario(EXAMPLE, ["ha-auto-rebalance-backoff=time"])
    # The outer connection keeps the server running while a name is found that no earlier run has used.
    async with connect(LOG, CLUSTER):
        cluster = await free_cluster(LOG, CLUSTER)
        return cluster, await _run(scenario, cluster, show)


async def _run(scenario: Scenario, cluster: str, show: Callable[[Event], None]) -> ClusterState:
    async with connect(LOG, cluster) as log:
        await simulate(scenario, log, show)
        make_console().print("\nThe journal ends here. What a replay of the stream says:\n")
        return await restore_state(log)
