"""How orders become jobs of a running agent, and what becomes of them when processes come and go."""

import asyncio
from threading import Event as Gate

import pytest

from haes.drivers.port import Emit
from haes.live.pretend import PretendNode
from haes.live.requests import send_request
from tests.live.world import LIMIT, World


async def test_a_job_that_is_done_stays_done_when_its_agent_begins_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reported while nobody led, found standing by the next agent, judged by the next leader: a success all the way."""
    gate, move = Gate(), PretendNode.move

    def gated(node: PretendNode, resource: str, target: str, emit: Emit, *, live: bool) -> bool:
        assert gate.wait(LIMIT)
        return move(node, resource, target, emit, live=live)

    monkeypatch.setattr(PretendNode, "move", gated)
    await world.all()
    await send_request(world.log.side, "eve", "migrate", ["vm:1", "node2"])
    await world.until(lambda state: state.resources["vm:1"].state == "migrate", "the order is given")
    for node in world.nodes[:2]:
        await world.kill(f"manager {node}")
    gate.set()
    await world.until(lambda state: state.resources["vm:1"].result is not None, "the end is on record")
    await world.kill("agent node1")
    n = (await world.log.head()).n
    agent = world.agent("node1")
    async with asyncio.timeout(LIMIT):
        while not agent.holds:
            await asyncio.sleep(0.02)
    # Several rounds, in which it may find the order.
    await world.until(lambda state: state.agents["node1"].state == "active", "the successor works")
    rounds = agent._last_round + 3 * agent._intervals.agent_round
    async with asyncio.timeout(LIMIT):
        while agent._last_round < rounds:
            await asyncio.sleep(0.02)
    world.manager("node2")
    state = await world.until(
        lambda state: (
            state.resources["vm:1"].state != "migrate"
            and (world.at_rest(state) or state.resources["vm:1"].state == "error")
        ),
        "the leader has judged",
    )
    assert (state.resources["vm:1"].state, state.resources["vm:1"].node) == ("started", "node2")
    later = [event for event in await world.events() if event.n > n and event.subject == "vm:1"]
    assert not [event for event in later if event.type == "job.wrong_node" or event.by == "node1/lrm"]
