"""What becomes of a service that ends by itself, with real processes: it goes on record, once, with how and why."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from events.history import History
from haes.drivers.process.client import KeeperAway
from haes.live.failing import failing_services
from haes.live.requests import send_request
from haes.live.said import fetch
from haes.live.status import read_status
from haes.state.cluster import ClusterState
from replay.explain import explain_resource
from tests.live.services import ProcessWorld
from tests.live.world import LIMIT

DIES = "echo one; echo 'password=hunter2'; echo two >&2; sleep 0.7; exit 3"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ProcessWorld]:
    """Provides a cluster of two nodes, to be filled and started."""
    made = ProcessWorld(tmp_path, {}, ("node1", "node2"))
    try:
        yield made
    finally:
        await made.end()


async def test_a_death_is_on_record_with_how_it_came(world: ProcessWorld) -> None:
    """Exit status, node, how long it ran and its last lines, without what looks like a secret."""
    world.given = {"process:a": {"node": "node1", "command": ["sh", "-c", DIES]}}
    await world.all()
    await world.until_count("job.starting", 2)
    died = (await world.of("service.died"))[0]
    assert (died.by, died.payload["node"], died.payload["exit_code"]) == ("node1/lrm", "node1", 3)
    assert 0.7 <= died.payload["ran"] < 3
    assert died.payload["lines"] == ["one", "password=***", "two"]


async def test_a_death_counts_once_whoever_reports_it(world: ProcessWorld) -> None:
    """It happens while no agent is there, and is reported by one that is killed before it can say so to the node."""
    world.given = {"process:a": {"node": "node1", "command": ["sleep", "1000"]}}
    await world.all()
    await world.until(world.at_rest, "it runs")
    await world.kill("agent node1")
    node = world.lives["node1"]
    pids = [item["pid"] for item in node._processes._known().values()]  # type: ignore[attr-defined]
    os.kill(pids[0], signal.SIGKILL)
    forget, node.forget_ends = node.forget_ends, _raise  # type: ignore[method-assign]
    worker = world.agent("node1", node)
    await world.until_count("service.died", 1)
    await world.kill("agent node1")
    node.forget_ends = forget  # type: ignore[method-assign]
    assert worker is not world.agent("node1", node)
    state = await world.until(lambda state: world.at_rest(state) and not node.ends(), "it runs again")
    (died,) = await world.of("service.died")
    assert (died.payload["signal"], died.payload["exit_code"]) == ("SIGKILL", None)
    assert [(death.node, death.how) for death in state.services["process:a"].deaths] == [("node1", "killed by SIGKILL")]


def _raise(_runs: object) -> None:
    raise KeeperAway("the node does not answer")


async def test_a_service_is_up_when_its_check_first_passes(world: ProcessWorld, tmp_path: Path) -> None:
    """Until then it is starting; one that never gets there is ended after its time of grace and says so."""
    ready = tmp_path / "ready"
    world.given = {
        "process:a": {
            "node": "node1",
            "command": ["sh", "-c", f"sleep 0.6; touch {ready}; exec sleep 1000"],
            "check": ["test", "-e", str(ready)],
            "check_interval": 0.1,
        },
        "process:b": {"node": "node2", "command": ["sleep", "1000"], "check": ["false"], "check_grace": 0.3},
    }
    await world.all()
    await world.until_count("job.starting", 1)
    assert not await world.of("job.running")
    running = (await world.until_count("job.running", 1))[0]
    assert running.subject == "process:a"
    assert running.at >= ready.stat().st_mtime
    died = (await world.until_count("service.died", 1))[0]
    assert (died.subject, died.payload["because"]) == ("process:b", "it did not get ready within 0.3 s")
    assert not [event for event in await world.of("job.running") if event.subject == "process:b"]


async def test_an_operator_need_not_wait_for_a_service_that_gets_not_ready(world: ProcessWorld) -> None:
    """A stop goes through at once, although the start still waits for the check."""
    command = ["sleep", "1000"]
    world.given = {"process:a": {"node": "node1", "command": command, "check": ["false"], "check_grace": 600}}
    await world.all()
    await world.until_count("job.starting", 1)
    await send_request(world.log.side, "eve", "configure", ["process:a", json.dumps({"state": "stopped"})])
    await world.until(lambda state: state.resources["process:a"].state == "stopped", "it stopped")
    assert not await world.of("service.died")


SHORT = {"restart-delay": 0.2, "restart-factor": 2, "restart-max-delay": 1, "restart-healthy": 3}


async def test_a_service_that_dies_again_and_again_is_moved_and_then_in_error(world: ProcessWorld) -> None:
    """Restarted after growing delays, taken elsewhere after so many failures, then in error with the reason."""
    world.ha = SHORT
    world.given = {"process:a": {"node": "node1", "command": ["sh", "-c", "sleep 0.6; exit 3"], "max_restart": 2}}
    await world.all()
    state = await world.until(lambda state: _state(state) == "error", "it is in error")
    died = await world.of("service.died")
    assert [event.payload["node"] for event in died] == ["node1"] * 3 + ["node2"] * 3
    assert [event.payload["plan"] for event in died] == ["restart", "restart", "relocate"] * 2
    waits = [event.payload["until"] - event.at for event in died]
    assert waits == pytest.approx([0.2, 0.4, 0.8, 1, 1, 1])
    starts = [event.at for event in await world.of("job.starting")]
    assert len(starts) == 6
    assert all(start >= event.payload["until"] for start, event in zip(starts[1:], died, strict=False))
    (error,) = await world.of("resource.error")
    assert error.payload["because"].startswith("exited with 3, 6 times in ")
    assert error.payload["because"].endswith(" s, on node1, node2")
    assert state.resources["process:a"].failed_nodes == ["node1", "node2"]
    await send_request(world.log.side, "eve", "retry", ["process:a"])
    await world.until_count("job.starting", 7)
    again = (await world.until_count("service.died", 7))[-1]
    assert (again.payload["series"], again.payload["plan"]) == (1, "restart")


def _state(state: ClusterState) -> str:
    return state.resources["process:a"].state if "process:a" in state.resources else ""


async def test_a_service_that_runs_well_in_the_end_is_forgotten(world: ProcessWorld, tmp_path: Path) -> None:
    """After five failures and its healthy time nothing counts any more; the deaths themselves stay known."""
    count = tmp_path / "count"
    program = f"echo x >> {count}; [ $(wc -l < {count}) -gt 5 ] && exec sleep 1000; exit 1"
    world.ha = {**SHORT, "restart-healthy": 1}
    command = ["sh", "-c", program]
    world.given = {"process:a": {"node": "node1", "command": command, "max_restart": 9, "restart_max_delay": 0.3}}
    await world.all()
    (healthy,) = await world.until_count("service.healthy", 1)
    state = await world.state()
    assert healthy.payload["deaths"] == 5
    memory = state.services["process:a"]
    assert (memory.series, memory.until, memory.plan, len(memory.deaths)) == (0, None, None, 5)
    assert state.resources["process:a"].node == "node1"
    retried = [event.payload["attempt"] for event in await world.of("job.retrying")]
    assert retried == [1, 2, 3, 4, 5]


async def test_whoever_looks_is_told_how_a_service_fails(world: ProcessWorld) -> None:
    """Status, its check and explain say what it dies of, how often, and when it is tried next, from the second death."""
    world.ha = {**SHORT, "restart-max-delay": 600, "restart-delay": 0.1, "restart-factor": 100}
    world.given = {"process:a": {"node": "node1", "command": ["sh", "-c", "kill -9 $$"], "max_restart": 9}}
    await world.all()
    first = await world.until(lambda state: _deaths(state) == 1, "it died once")
    assert failing_services(first, first.at) == []
    await world.until(lambda state: _deaths(state) == 2, "it died twice")
    state, live = await read_status(world.log)
    assert [line for line in live["trouble"] if "failing" in line] == [f"process:a is {live['failing']['process:a']}"]
    assert re.fullmatch(
        r"failing: killed by SIGKILL, 1 restart in \d+ s, next try in 1?\d s", live["failing"]["process:a"]
    )
    explanation, _ = await explain_resource(History(world.log), "process:a")
    text = "\n".join(explanation.to_lines())
    assert text.count("ended by itself on node1 after") == 2
    assert "it failed: killed by SIGKILL, 2 times in" in text
    # An hour later it is the same whether it ran well meanwhile.
    memory = state.services["process:a"].forgotten()
    state.services["process:a"] = replace(memory, deaths=memory.deaths * 2)
    assert failing_services(state, state.at)[0].startswith(
        "process:a dies again and again: 4 deaths in the last 60 min"
    )
    assert failing_services(state, state.at + 3600) == []


def _deaths(state: ClusterState) -> int:
    return len(state.services["process:a"].deaths) if "process:a" in state.services else 0


async def test_what_a_service_prints_is_shown_wherever_it_runs(world: ProcessWorld) -> None:
    """Its last lines, then what is new; a node without an agent does not answer, and what is no request does no harm."""
    command = ["sh", "-c", "echo one; echo 'key: \x1b[31mred'; sleep 0.3; echo three; exec sleep 1000"]
    world.given = {"process:a": {"node": "node2", "command": command}}
    await world.all()
    await world.until(world.at_rest, "it runs")
    await world.log.side.add("logs:eve", {"node": "node2", "resource": "process:a", "lines": "x"}, keep=9)
    piece = await fetch(world.log.side, "eve", "node2", "process:a", 2)
    assert piece is not None
    assert piece.lines in {("one", "key: red"), ("key: red", "three")}
    lines = list(piece.lines)
    async with asyncio.timeout(LIMIT):
        while "three" not in lines:
            piece = await fetch(world.log.side, "eve", "node2", "process:a", 2, piece.position)
            assert piece is not None
            lines += piece.lines
    assert lines[-2:] == ["key: red", "three"]
    await world.kill("agent node1")
    assert await fetch(world.log.side, "eve", "node1", "process:a", 2) is None
