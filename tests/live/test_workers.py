"""How the processes of a cluster live together."""

import asyncio

from haes.live.announce import known_types
from haes.state.batch import Batch
from tests.live.world import INTERVALS, World


async def test_one_leads_and_the_other_takes_over(world: World) -> None:
    """There is one leader; when it resigns another one leads at once, when it dies within its lease."""
    await world.all()
    first = (await world.state()).leader
    assert first is not None
    await world.leave(f"manager {first}")
    began = asyncio.get_running_loop().time()
    state = await world.until(lambda state: state.leader != first, "another one leads")
    assert asyncio.get_running_loop().time() - began < INTERVALS.leader_lease + 1.0
    second = state.leader
    assert second is not None
    world.manager(first)
    await world.kill(f"manager {second}")
    await world.until(lambda state: state.leader == first, "the first one leads again")


async def test_the_balancers_memory_survives_its_leader(world: World) -> None:
    """What was learned of failing motions is on the stream, so the next leader knows it, too."""
    world.settings = {"ha": "dynamic", "ha-auto-rebalance": 2}
    await world.all()
    await world.command("rebalance-advise")
    before = (await world.state()).balance
    leader = (await world.state()).leader
    await world.kill(f"manager {leader}")
    state = await world.until(lambda state: state.leader != leader, "another one leads")
    assert state.balance.series == before.series
    assert state.balance.refusal == before.refusal


async def test_a_leader_writes_nothing_that_a_member_cannot_read(world: World) -> None:
    """While an older program is there, what it does not know is not written; once it is upgraded, all goes on."""
    await world.all()
    token = await world.log.acquire("test", "test")
    old = {type_: version for type_, version in known_types().items() if type_ != "resource.migrate"}

    async def announce(types: dict[str, int]) -> None:
        batch = Batch(None, "node3/lrm", await world.log.now())
        batch.emit("member.announced", "agent/node3", program="0.0.9", types=types)
        await world.log.append(batch.events, token=token)

    await announce(old)
    command = asyncio.create_task(world.command("migrate", "vm:1", "node2"))
    await world.until(lambda state: any(name in state.versions for name in ("node1", "node2")), "it is asked")
    waits = None
    async with asyncio.timeout(10):
        while waits is None:
            found = [event for event in await world.events() if event.type == "manager.waits"]
            waits = found[0] if found else None
            await asyncio.sleep(0.02)
    assert waits.payload == {"types": ["resource.migrate"], "members": ["agent/node3"]}
    assert not [event for event in await world.events() if event.type == "resource.migrate"]
    await announce(known_types())
    assert (await command).text == "vm:1 is on node2"


async def test_announcements_are_made_once(world: World) -> None:
    """A restart of the same program announces nothing new."""
    await world.all()
    before = len([event for event in await world.events() if event.type == "member.announced"])
    assert before == 5
    await world.leave("agent node2")
    world.agent("node2")
    await world.until(lambda state: state.agents["node2"].mode == "active" and world.at_rest(state), "it is back")
    assert len([event for event in await world.events() if event.type == "member.announced"]) == before


async def test_every_process_believes_what_the_log_says(world: World) -> None:
    """At rest the state of every worker is the fold of the log, exactly."""
    await world.begin()
    workers = [world.manager("node1"), world.manager("node2"), *(world.agent(node) for node in world.nodes)]
    await world.until(world.at_rest, "everything runs")
    await world.command("migrate", "vm:1", "node3")
    n = (await world.log.head()).n
    async with asyncio.timeout(10):
        while any(worker.replica.state.n < n for worker in workers):
            await asyncio.sleep(0.02)
    told = (await world.state()).to_data()
    for worker in workers:
        if worker.replica.state.n == told["n"]:
            assert worker.replica.state.to_data() == told


async def test_a_lost_node_is_fenced_only_after_its_lease(world: World) -> None:
    """Between the last word of an agent and the start of its services elsewhere lies at least its whole lease."""
    await world.all()
    events = await world.events()
    last = max(event.at for event in events if event.by == "node1/lrm")
    await world.kill("agent node1")
    died = await world.log.now()
    await world.until(
        lambda state: state.resources["vm:1"].node != "node1" and world.at_rest(state), "it runs elsewhere"
    )
    again = next(
        event
        for event in await world.events()
        if event.type == "job.starting" and event.subject == "vm:1" and event.at > last
    )
    # Renewed at the latest a third of a lease before it died.
    assert again.at - died >= INTERVALS.agent_lease * 2 / 3 - 0.05
