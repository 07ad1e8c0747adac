"""Decisions of a live cluster are decided again from the samples that they name."""

import asyncio
from collections.abc import Sequence

from events.envelope import Event
from events.history import History
from events.log.side import SideEntry
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.telemetry import STREAM, Sample, decode, encode, taken_at
from replay.checks.measured import Measured
from replay.verify import verify
from tests.live.world import LIMIT, World

SETTINGS: dict[str, object] = {
    "ha": "dynamic",
    "ha-auto-rebalance": 0,
    "ha-auto-rebalance-threshold": 5,
    "ha-auto-rebalance-hold-duration": 1,
    "ha-auto-rebalance-cooldown": 0,
    "ha-load-average-window": 1,
}


async def _story(world: World, method: str = "bruteforce") -> list[Event]:
    """Lets the balancer move something, and returns its motions."""
    world.services = dict.fromkeys(("vm:1", "vm:2", "vm:3", "vm:4"), "node1")
    world.settings = {**SETTINGS, "ha-auto-rebalance-method": method}
    await world.all()
    # So that the window of the first motion begins after the first sample.
    async with asyncio.timeout(LIMIT):
        while not (known := await world.log.side.read_all(STREAM)) or taken_at(known[-1]) - taken_at(known[0]) < 1.5:
            await asyncio.sleep(0.05)
    await world.command("change-settings", '{"crs": {"ha-auto-rebalance": 1}}')
    await world.until(lambda state: state.balance.motions > 1 and state.balance.motion is None, "something was moved")
    for node in world.nodes[:2]:
        await world.leave(f"manager {node}")
    return [event for event in await world.events() if event.type == "balance.motion"]


async def test_motions_come_out_again_from_their_samples(world: World) -> None:
    """State and samples are enough to choose the same motion again, for the same reasons, with the same figures."""
    motions = await _story(world)
    report = await verify(History(world.log))
    assert report.findings == []
    assert report.checks["decisions"] == f"{len(motions)} motions come out again from their samples"


async def test_plans_come_out_again_from_their_samples(world: World) -> None:
    """A plan and each of its motions follow from state and samples alone."""
    motions = await _story(world, "plan")
    plans = [event for event in await world.events() if event.type == "balance.plan"]
    assert plans
    assert all("plan" in motion.payload for motion in motions)
    report = await verify(History(world.log))
    assert report.findings == []
    found = f"{len(motions)} motions and {len(plans)} plans come out again from their samples"
    assert report.checks["decisions"] == found


async def test_a_motion_that_its_samples_do_not_justify_is_named(world: World) -> None:
    """Samples that say something else than at the time of the decision are found out at every motion that used them."""
    motions = await _story(world)
    samples = await world.log.side.read_all(STREAM)
    forged = [SideEntry(sample.id, encode(_idle(sample))) for sample in samples]
    found = await _findings(world, forged)
    assert list(found) == [motion.n for motion in motions]
    assert found[motions[0].n] == "motion 1: decided again from its samples, no motion comes out"


async def test_nothing_is_said_of_motions_whose_samples_are_gone(world: World) -> None:
    """Samples are kept for a while only; then a motion is neither right nor wrong."""
    motions = await _story(world)
    assert await _findings(world, []) == {}
    last = (await world.log.side.read_all(STREAM))[-1:]
    check = Measured(last)
    state = ClusterState()
    for event in await world.events():
        check.before(event, state)
        apply_event(state, event)
    assert (
        check.end(state) == f"0 motions come out again from their samples; the samples of {len(motions)} have expired"
    )


def _idle(entry: SideEntry) -> Sample:
    """Returns a sample of the same node on which nothing uses anything."""
    sample = decode(entry)
    assert sample is not None
    return Sample(sample.node, sample.maxcpu, sample.maxmem, 0.0, 0, dict.fromkeys(sample.services, (0.0, 0)))


async def _findings(world: World, samples: Sequence[SideEntry]) -> dict[int, str]:
    check = Measured(samples)
    state = ClusterState()
    for event in await world.events():
        check.before(event, state)
        apply_event(state, event)
    return {finding.n: finding.text for finding in check.findings}
