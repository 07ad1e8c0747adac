"""All that the manager knows is a projection: thrown away and rebuilt at any point, it decides the same."""

import pytest

from haes.manager.round import Leader
from haes.simulation.scenario import Scenario
from haes.simulation.world import World
from haes.state.fold import fold
from tests.builders import Story, tell
from tests.scenarios.sample import load, of_kinds

NAMES = of_kinds("memory", "rebalance", "rebalance-fail", "rebalance-rules")
# Of each scenario so many appends are tried, spread evenly; of a few scenarios every one is.
TRIED = 10
THOROUGH = ["fa109", "test-memory-21-022", "test-rebalance-fail-11-142"]


async def _counted(scenario: Scenario) -> tuple[Story, int]:
    """Runs a scenario undisturbed and returns its story with the number of appends."""
    appends = 0

    def count(world: World) -> None:
        def appended() -> None:
            nonlocal appends
            appends += 1

        world.rebuild = appended

    return await tell(scenario, count), appends


async def _rebuilt_after(scenario: Scenario, appends: set[int]) -> Story:
    """Runs a scenario and rebuilds the state and the leader from the stream after some appends."""
    seen = 0

    def prepare(world: World) -> None:
        events, on_event = [], world.on_event

        def keep(event) -> None:  # noqa: ANN001 - as World.on_event
            events.append(event)
            on_event(event)

        def rebuild() -> None:
            nonlocal seen
            seen += 1
            if seen not in appends:
                return
            world.state = fold(events)
            for host in world.hosts.values():
                manager = host.manager
                if manager is not None and manager.leader is not None:
                    old = manager.leader
                    manager.leader = Leader(streak=old.streak, previous_round_at=old.previous_round_at)

        world.on_event = keep
        world.rebuild = rebuild

    return await tell(scenario, prepare)


def _same(rebuilt: Story, undisturbed: Story) -> None:
    assert rebuilt.journal() == undisturbed.journal()
    assert rebuilt.events == _with_ids_of(undisturbed, rebuilt)
    assert rebuilt.state.to_data() == undisturbed.state.to_data()


def _with_ids_of(story: Story, other: Story) -> list[object]:
    """Returns a story's events with the stream ids of another's, which come from the log's clock."""
    for event, twin in zip(story.events, other.events, strict=True):
        event.id = twin.id
    return list(story.events)


@pytest.mark.parametrize("log_name", ["log.series", "log.time"])
@pytest.mark.parametrize("name", NAMES)
async def test_the_state_dropped_and_rebuilt_at_any_point_decides_the_same(name: str, log_name: str) -> None:
    """After each of some appends everything but the stream is dropped; the rest of the run is the same to the byte."""
    scenario = load(name, log_name)
    undisturbed, appends = await _counted(scenario)
    for tried in range(TRIED):
        _same(await _rebuilt_after(scenario, {1 + tried * appends // TRIED}), undisturbed)


@pytest.mark.parametrize("name", THOROUGH)
async def test_the_state_dropped_after_each_append_in_turn(name: str) -> None:
    """There is no append at all after which memory that a replay cannot rebuild would be missed."""
    scenario = load(name)
    undisturbed, appends = await _counted(scenario)
    for append in range(1, appends + 1):
        rebuilt = await _rebuilt_after(scenario, {append})
        assert rebuilt.journal() == undisturbed.journal()


@pytest.mark.parametrize("name", NAMES)
async def test_the_state_dropped_after_all_appends(name: str) -> None:
    """A manager that keeps nothing between any two appends decides the same as one that keeps everything."""
    scenario = load(name)
    undisturbed, appends = await _counted(scenario)
    _same(await _rebuilt_after(scenario, set(range(1, appends + 1))), undisturbed)
