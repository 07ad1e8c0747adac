"""A node whose keeper knows a newer right, or is away: the agent begins anew or waits, and no right is given twice."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from events.log.memory import MemoryLog
from events.log.port import Token
from haes.agent.execution import Job
from haes.configuration.cluster import NodeValues
from haes.drivers.process.client import KeeperAway, KeeperClient
from haes.drivers.process.keeper import clean
from haes.exit_codes import TRY_AGAIN
from haes.live.agent import AgentWorker
from haes.live.build import build_node
from haes.live.presence import agent_lease
from haes.live.pretend import PretendNode
from haes.live.seen import Seen, SeenFile
from haes.live.work import WORKERS, Work
from haes.state import ClusterState
from haes.state.batch import Batch
from haes.state.records import ResourceConfiguration
from tests.live.world import INTERVALS, LIMIT, World

NODE = "node1"
# A term that an agent which lives renews in time on any machine, and whose loss is noticed after a third of it.
PATIENT = replace(INTERVALS, agent_lease=6.0)


@pytest.fixture
async def kept(world: World, tmp_path: Path) -> AsyncIterator[World]:
    """Provides a cluster whose first node has a real keeper."""
    folder = tmp_path / NODE
    folder.mkdir()
    try:
        await world.begin()
        world.manager("node2")
        start(world)
        for node in world.nodes[1:]:
            world.agent(node)
        await world.until(world.at_rest, "everything runs")
        yield world
    finally:
        await asyncio.to_thread(clean, folder)


def start(world: World, seen: SeenFile | None = None) -> AgentWorker:
    """Starts the agent of the node with a keeper."""
    worker: AgentWorker
    live = build_node(world.folder / NODE, NODE, NodeValues(), lambda: worker.replica.state)
    worker = AgentWorker(world.log, NODE, live, PATIENT, f"{NODE}/lrm@test", "test", seen)
    world._start(f"agent {NODE}", worker)
    return worker


def lose_the_lease(log: MemoryLog) -> None:
    """Lets the log forget that the agent's lease was taken, as a server does that lost its tail."""
    del log._leases[agent_lease(NODE)]
    log._epochs[agent_lease(NODE)] -= 1


def given(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> list[Token]:
    """Returns the tokens of the agent's lease as they are given out from now on."""
    tokens: list[Token] = []
    acquire = log.acquire

    async def noted(lease: str, *arguments: Any, **values: Any) -> Token:
        token = await acquire(lease, *arguments, **values)
        if lease == agent_lease(NODE):
            tokens.append(token)
        return token

    monkeypatch.setattr(log, "acquire", noted)
    return tokens


async def until_connected(world: World, times: int) -> None:
    """Waits until the agent has said so many times what runs on its node, and everything runs."""
    said = 0
    async with asyncio.timeout(LIMIT):
        while said < times:
            await world.until(world.at_rest, "everything runs")
            said = sum(event.type == "agent.connected" and event.subject == NODE for event in await world.events())
            await asyncio.sleep(0.02)
    await world.until(world.at_rest, "everything runs")


async def test_an_agent_whose_lease_was_forgotten_begins_anew(kept: World) -> None:
    """The successor of an agent whose lease the log forgot gets a newer right than its node has seen, and works."""
    before = (await kept.log.leases())[agent_lease(NODE)].epoch
    await kept.kill(f"agent {NODE}")
    lose_the_lease(kept.log)
    start(kept)
    await until_connected(kept, 2)
    assert (await kept.log.leases())[agent_lease(NODE)].epoch > before


async def test_no_right_is_given_out_twice(kept: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever remembers a right gets a newer one, although the log has forgotten that it gave it."""
    lease = (await kept.log.leases())[agent_lease(NODE)]
    tokens = given(kept.log, monkeypatch)
    lose_the_lease(kept.log)
    await until_connected(kept, 2)
    rights = [(1, lease.epoch), *((token.generation, token.epoch) for token in tokens)]
    assert len(set(rights)) == len(rights) > 1


async def test_an_agent_that_is_refused_leaves_in_good_order(kept: World) -> None:
    """A keeper that knows a newer right does not keep the agent from leaving, and makes no error of it."""
    other = KeeperClient(kept.folder / NODE, NODE)
    other.use(Token(1, agent_lease(NODE), 99, "other"))
    await asyncio.to_thread(other.act, "acknowledge")
    await kept.leave(f"agent {NODE}")


async def test_a_process_that_remembers_more_than_the_log_has_raises_the_generation(world: World) -> None:
    """Whoever begins on a log that lost its tail voids every right of then before it takes one of its own."""
    await world.begin()
    seen = SeenFile(world.folder / "agent.seen")
    head = await world.log.head()
    seen.save(Seen(head.log_id, head.n + 1000, 3))
    folder = world.folder / NODE
    folder.mkdir()
    try:
        start(world, seen)
        await world.until(lambda state: NODE in state.agents, "the agent is there")
        assert (await world.log.head()).generation == 4
    finally:
        await world.kill(f"agent {NODE}")
        await asyncio.to_thread(clean, folder)


class _Away:
    """A driver whose keeper cannot be reached."""

    kinds = frozenset({"vm"})

    def running(self, _resource: str) -> bool:
        raise KeeperAway("nobody there")


async def test_a_job_whose_keeper_is_away_says_nothing_about_its_resource() -> None:
    """What could not be tried is tried again; a resource is not to blame for its node's keeper."""
    state = ClusterState()
    state.configurations["vm:1"] = ResourceConfiguration(NODE, state="started")
    ended = asyncio.Event()
    work = Work(NODE, _Away(), ended.set)  # type: ignore[arg-type]
    job = Job("vm:1", 1, "started")
    batch = Batch(None, f"{NODE}/lrm", 1)
    assert work.step(job, batch, state, {}) is None
    async with asyncio.timeout(LIMIT):
        await ended.wait()
    assert work.step(job, batch, state, {}) == TRY_AGAIN
    work.close()


class _Slow:
    """A driver each of whose jobs waits until it may go on."""

    kinds = frozenset({"vm"})

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.asked: list[str] = []

    def running(self, resource: str) -> bool:
        self.asked.append(resource)
        assert self.go_on.wait(LIMIT)
        raise KeeperAway("nobody there")


async def test_a_job_that_waited_does_not_begin_after_its_agent_began_anew() -> None:
    """What was ordered under a right that is over never reaches the keeper under the next one."""
    state, driver, ended = ClusterState(), _Slow(), asyncio.Event()
    work = Work(NODE, driver, ended.set)  # type: ignore[arg-type]
    batch = Batch(None, f"{NODE}/lrm", 1)
    names = [f"vm:{number}" for number in range(WORKERS + 1)]
    for name in names:
        state.configurations[name] = ResourceConfiguration(NODE, state="started")
        assert work.step(Job(name, 1, "started"), batch, state, {}) is None
    async with asyncio.timeout(LIMIT):
        while len(driver.asked) < WORKERS:
            await asyncio.sleep(0.01)
    work.void()
    driver.go_on.set()
    async with asyncio.timeout(LIMIT):
        while work.step(Job(names[-1], 1, "started"), batch, state, {}) != TRY_AGAIN:
            await asyncio.sleep(0.01)
    assert names[-1] not in driver.asked
    work.close()


async def test_an_agent_takes_its_own_lease_back_before_its_services_end(world: World) -> None:
    """When every right was voided, the lease in an agent's own name does not keep that agent out until it runs out."""
    await world.begin()
    world.manager("node2")
    live = PretendNode(world.folder / f"{NODE}.json", NODE)
    world._start(f"agent {NODE}", AgentWorker(world.log, NODE, live, PATIENT, f"{NODE}/lrm@test", "test"))
    await world.until(lambda state: state.resources["vm:1"].running if "vm:1" in state.resources else False, "it runs")
    await world.log.raise_generation(1)
    async with asyncio.timeout(LIMIT):
        while sum(event.type == "agent.connected" for event in await world.events()) < 2:
            await asyncio.sleep(0.02)
    assert not [event for event in await world.events() if event.type == "node.watchdog_fired"]
    assert live.running("vm:1")
