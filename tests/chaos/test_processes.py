"""What is killed, paused or left, and comes back."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from haes.drivers.process.client import KeeperAway, KeeperClient
from haes.live.agent import LEAVE_LIMIT
from tests.chaos.cluster import AGENT_LEASE, LEADER_LEASE, PATIENT, REST_LIMIT, TEST_LIMIT, LiveCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(TEST_LIMIT)]

Make = Callable[..., Awaitable[LiveCluster]]


def _other(cluster: LiveCluster, node: str | None) -> str:
    return next(name for name in cluster.managers if name != node)


async def test_a_killed_leader_is_replaced_within_its_lease(make: Make) -> None:
    """A standby decides within a lease and a second, and what operators ask then is served; nothing is lost."""
    cluster = await make(agent_lease=PATIENT["agent_lease"])
    leader = (await cluster.state()).leader
    assert leader is not None
    await cluster.kill("manager", leader)
    killed = await cluster.now()
    elected = await cluster.until_event(
        lambda event: event.type == "leader.elected" and event.at >= killed, "another leader"
    )
    assert elected.at - killed < LEADER_LEASE + 1
    outcome = await cluster.command("relocate", "process:a", "node3")
    assert outcome.text == "process:a is on node3"
    await cluster.check_invariants()


async def test_a_paused_leader_cannot_write_when_it_wakes(make: Make) -> None:
    """A leader that slept past its lease finds another one, steps down and decides nothing more."""
    cluster = await make(agent_lease=PATIENT["agent_lease"])
    leader = (await cluster.state()).leader
    assert leader is not None
    cluster.signal("manager", leader, signal.SIGSTOP)
    state = await cluster.until(lambda state: state.leader != leader, "another leader")
    epoch = state.epoch
    cluster.signal("manager", leader, signal.SIGCONT)
    await cluster.until(
        lambda state: state.managers[leader] in {"slave", "lost_manager_lock"}, "the old one steps down"
    )
    events = await cluster.check_invariants()
    elected = max(event.n for event in events if event.type == "leader.elected")
    by_old = [event for event in events if event.n > elected and event.by == f"{leader}/crm"]
    assert all(event.type.startswith("manager.") for event in by_old)
    assert epoch


async def test_a_killed_agent_is_followed_by_one_that_finds_its_services(make: Make) -> None:
    """An agent that crashes and is started again within its lease takes its services over as they run."""
    cluster = await make(**PATIENT)
    pid = await _pid_of(cluster, "node1", "process:a")
    await cluster.kill("agent", "node1")
    await cluster.start_one("agent", "node1")
    await cluster.until(
        lambda state: state.agents["node1"].state == "active" and state.resources["process:a"].running, "it is back"
    )
    assert await _pid_of(cluster, "node1", "process:a") == pid
    await cluster.check_invariants()


async def test_services_of_an_agent_that_stays_away_run_elsewhere(make: Make) -> None:
    """Without an agent the keeper kills the services when the lease is over, and only then they start elsewhere."""
    cluster = await make()
    await cluster.kill("agent", "node1")
    state = await cluster.until(
        lambda state: state.resources["process:a"].node != "node1" and cluster.at_rest(state), "it runs elsewhere"
    )
    assert state.nodes["node1"] == "unknown"
    await cluster.start_one("agent", "node1")
    await cluster.until(lambda state: state.nodes["node1"] == "online", "the node is back")
    events = await cluster.check_invariants()
    fired = next(event for event in events if event.type == "node.watchdog_fired" and event.subject == "node1")
    assert "process:a" in fired.payload["killed"]


async def test_an_agent_paused_past_its_lease_has_lost_its_services(make: Make) -> None:
    """A frozen agent cannot fence itself; its keeper does, and when it wakes it begins anew."""
    cluster = await make()
    cluster.signal("agent", "node1", signal.SIGSTOP)
    await cluster.until(
        lambda state: state.resources["process:a"].node != "node1" and cluster.at_rest(state), "it runs elsewhere"
    )
    cluster.signal("agent", "node1", signal.SIGCONT)
    await cluster.until(lambda state: state.nodes["node1"] == "online", "the node is back")
    events = await cluster.check_invariants()
    assert any(event.type == "node.watchdog_fired" and event.subject == "node1" for event in events)


async def test_everything_can_be_restarted_one_after_another(make: Make) -> None:
    """A rolling restart stops no service: each agent freezes what it has and its successor goes on with it."""
    cluster = await make(**PATIENT)
    pids = {node: await _pid_of(cluster, node, name) for name, node in cluster.services.items()}
    for part, node in [("agent", node) for node in cluster.nodes] + [("manager", node) for node in cluster.managers]:
        assert await cluster.leave(part, node) == 0
        await cluster.start_one(part, node)
        if part == "agent":
            await cluster.until(lambda state, node=node: state.agents[node].mode == "active", "the successor is there")
        await cluster.settle()
    assert pids == {node: await _pid_of(cluster, node, name) for name, node in cluster.services.items()}
    events = await cluster.check_invariants()
    for left in [event for event in events if event.type == "agent.exited"]:
        begun = max(event.at for event in events if event.type == "agent.leaving" and event.n < left.n)
        assert left.at - begun < LEAVE_LIMIT + 1
    assert not [event for event in events if event.type in {"resource.fence", "node.watchdog_fired", "job.stopped"}]


async def test_an_agent_that_leaves_and_does_not_come_back_keeps_its_services_running(make: Make) -> None:
    """Only a lapsed lease kills; one that was given back on purpose does not, however long it takes."""
    cluster = await make()
    assert await cluster.leave("agent", "node1") == 0
    await cluster.until(lambda state: state.resources["process:a"].state == "freeze", "it is frozen")
    pid = await _pid_of(cluster, "node1", "process:a")
    await asyncio.sleep(2 * AGENT_LEASE)
    state = await cluster.state()
    assert (state.resources["process:a"].state, state.nodes["node1"]) == ("freeze", "online")
    assert await _pid_of(cluster, "node1", "process:a") == pid
    await cluster.check_invariants()


async def test_many_processes_may_start_at_the_same_instant(make: Make) -> None:
    """Two managers and ten agents start at once: one leader, one beginning of the log, every service once."""
    nodes = [f"node{number}" for number in range(1, 11)]
    cluster = await make(
        nodes=nodes, services={f"process:{number}": f"node{number}" for number in range(1, 11)}, **PATIENT
    )
    events = await cluster.check_invariants()
    assert len([event for event in events if event.type == "cluster.created"]) == 1
    assert len([event for event in events if event.type == "leader.elected"]) == 1


async def test_a_killed_keeper_takes_its_services_with_it(make: Make) -> None:
    """Services cannot outlive what would kill them: they die with their keeper and start again under the next."""
    cluster = await make(**PATIENT)
    keeper = await _ask(cluster, "node1")
    os.kill(keeper["pid"], signal.SIGKILL)
    async with asyncio.timeout(REST_LIMIT):
        while (await _keeper_pid(cluster, "node1")) in {None, keeper["pid"]}:
            await asyncio.sleep(0.05)
    fired = await cluster.until_event(lambda event: event.type == "node.watchdog_fired", "the loss is on record")
    assert (fired.subject, fired.payload["killed"]) == ("node1", ["process:a"])
    again = await cluster.until_event(
        lambda event: event.n > fired.n and event.type == "job.running" and event.subject == "process:a",
        "it runs again",
    )
    assert again.by == "node1/lrm"
    await cluster.settle()
    await cluster.check_invariants()


async def _keeper_pid(cluster: LiveCluster, node: str) -> int | None:
    with suppress(KeeperAway):
        pid: int = (await _ask(cluster, node))["pid"]
        return pid
    return None


async def _ask(cluster: LiveCluster, node: str) -> dict[str, Any]:
    return await asyncio.to_thread(KeeperClient(cluster.directory / node, node).ask_once, "status")


async def _pid_of(cluster: LiveCluster, node: str, service: str) -> int:
    pid: int = (await _ask(cluster, node))["services"][service]["pid"]
    return pid
