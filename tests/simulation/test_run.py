"""The simulation: the same run every time, no resource twice, one leader, and honest ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from events.errors import UserError
from events.log.memory import MemoryLog
from haes.simulation.run import LAST_SECONDS
from haes.simulation.scenario import Scenario
from haes.simulation.world import World
from tests.builders import STEP, cluster, tell
from tests.scenarios.sample import DATA, FOLDERS, load

ONE = {"vm:101": {"node": 1}}
NAMES = [folder.name for folder in FOLDERS]
# Runs in a process of its own, since a process keeps its hash order.
_PRINT_EVENTS = """
import asyncio, sys
from tests.builders import tell
from tests.scenarios.sample import load
for name in sys.argv[1:]:
    for event in asyncio.run(tell(load(name))).events:
        print(event.n, event.type, event.subject, event.by, event.at, event.about, event.cause, event.payload)
"""


@pytest.mark.parametrize("name", NAMES)
async def test_no_resource_runs_twice_and_no_two_lead(name: str) -> None:
    """At every moment a resource runs on at most one machine, and at most one quorate manager leads."""
    moments = 0

    def watch(world: World) -> None:
        def look() -> None:
            nonlocal moments
            moments += 1
            running = [
                resource
                for machine in world.hardware.machines.values()
                for resource, runs in machine.runs.items()
                if runs
            ]
            assert len(running) == len(set(running))
            leading = [
                node
                for node, host in world.hosts.items()
                if host.manager is not None and host.manager.leader is not None and world.hardware.is_quorate(node)
            ]
            assert len(leading) <= 1

        world.rebuild = look

    await tell(load(name), watch)
    assert moments > 10


def test_a_run_does_not_depend_on_the_hash_order() -> None:
    """Sets and dicts may be ordered in any way: the events are the same."""
    names = [NAMES[0], "test-rules-11-161", "test-rebalance-rules-11-151", "test-memory-21-027"]
    printed = [
        subprocess.run(
            [sys.executable, "-c", _PRINT_EVENTS, *names],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parent.parent.parent,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert printed[0]
    assert printed[0] == printed[1] == printed[2]


@pytest.mark.parametrize("name", ["fa109", "test-memory-21-007", "test-rules-11-161"])
async def test_a_simulation_can_be_run_again_from_its_own_stream(name: str) -> None:
    """The inputs stand on the stream, whole: run again, they lead to the same journal."""
    first = await tell(load(name))
    (started,) = first.of("simulation.started")
    again = await tell(Scenario(**started.payload["scenario"]))
    assert again.journal() == first.journal()
    assert again.state.to_data() == first.state.to_data()


async def test_a_simulation_needs_an_empty_log() -> None:
    """A second run into the same log is refused before anything is written, in a line that names the cluster."""
    log = MemoryLog("busy")
    await tell(cluster(ONE), log=log)
    before = (await log.head()).n
    with pytest.raises(UserError, match="cluster 'busy' has events already"):
        await tell(cluster(ONE), log=log)
    assert (await log.head()).n == before


async def test_a_run_that_cannot_go_on_says_so_on_the_stream() -> None:
    """An error in the middle is the last event, so that nobody takes the stream for a whole run."""
    log = MemoryLog("story")
    with pytest.raises(UserError, match="no resource 'vm:999'"):
        await tell(cluster(ONE, steps=[["service vm:999 delete"]]), log=log)
    last = [event async for event in log.read_all()][-1]
    assert last.type == "simulation.aborted"
    assert "vm:999" in last.payload["error"]


async def test_leases_are_given_back_at_the_end() -> None:
    """A finished simulation keeps nobody from the log."""
    story = await tell(cluster(ONE))
    assert await story.log.leases() == {}


async def test_a_cluster_too_large_for_its_watchdogs_is_refused() -> None:
    """A loop over the nodes must not take longer than a watchdog waits."""
    story = await tell(cluster(ONE, nodes=29))
    assert story.state.leader == "node1"
    with pytest.raises(UserError, match="at most 29 nodes, not 30"):
        await tell(cluster(ONE, nodes=30))


async def test_the_run_ends_a_while_after_the_last_command() -> None:
    """It ends at the first command slot more than so many seconds after the last command, not before."""
    story = await tell(cluster(ONE, steps=[["service vm:101 stopped"]]))
    commands = [event.at for event in story.of("simulation.command")]
    end = story.of("simulation.ended")[0].at
    assert LAST_SECONDS < end - commands[-1] <= LAST_SECONDS + STEP


async def test_a_node_that_is_cut_off_writes_late_facts_only() -> None:
    """What it logs is marked as late until it is back, and the folded state never depends on it."""
    scenario = cluster(ONE, steps=[["network node1 off"]])
    story = await tell(scenario)
    cut = next(event for event in story.of("simulation.command") if event.payload["command"] == "network node1 off")
    later = [event for event in story.events if event.n > cut.n and event.by.startswith("node1/")]
    assert later
    assert all(event.late for event in later if event.type != "node.killed")
    assert not [event for event in story.events if event.late and event.n < cut.n]


async def test_a_node_that_cannot_feed_its_watchdog_loses_its_power() -> None:
    """Cut off with resources running, a node is off before anybody may take them over."""
    story = await tell(cluster(ONE, steps=[["network node1 off"]]))
    (fired,) = story.of("simulation.watchdog_fired")
    (fenced,) = story.of("node.fenced")
    (recovered,) = story.of("resource.recovered")
    assert fired.at < fenced.at <= recovered.at
    assert story.state.resources["vm:101"].node in {"node2", "node3"}


def test_the_sample_is_there() -> None:
    """All folders of the sample hold an expected journal."""
    assert len(NAMES) == 50
    assert all((DATA / name / "log.expect").is_file() for name in NAMES)
