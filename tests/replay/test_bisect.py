"""Searching a stream for the first event after which something holds: what is found is what a search by hand finds."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import UserError
from events.history import History
from events.log.memory import MemoryLog
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from haes.state import ClusterState
from haes.state.restore import restore_state, save_state
from replay.bisect import find_first, find_first_by_halving, never_there
from replay.language import Moment, compile_condition

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "data"


LOGS: list[MemoryLog] = []


async def _log() -> MemoryLog:
    """Returns a log that nobody changes, the same each time."""
    if LOGS:
        return LOGS[0]
    log = MemoryLog("main")
    await simulate(load_scenario(SCENARIOS / "fa109", ["ha-auto-rebalance-backoff=series"]), log, lambda _: None)
    for n in (30, 77, 100):
        await save_state(log, await restore_state(log, n))
    LOGS.append(log)
    return log


CONDITIONS = [
    'resource("vm:102").node == "node2"',
    'resource("fa:109").state == "relocate"',
    "any(failures, attempts >= 1)",
    "imbalance > 40",
    "count(resources, running) == 4 and n > 70",
    'event.type == "balance.failed"',
    'count(nodes, state == "online") == 3',
    'node("node2").state == "fence"',
    "leader == none",
    "at >= 240",
]
# Of these, what holds once holds for good.
MONOTONE = [
    'resource("vm:102").node == "node2"',
    "any(failures, attempts >= 1)",
    "count(failures) >= 2",
    "motions >= 3",
    "at >= 240",
    "n >= 1",
    "n > 500",
    'leader == "node1" or n > 90',
]


def _by_hand(events: list[object], text: str, before: int, last: int) -> int | None:
    condition, moment = compile_condition(text), Moment(ClusterState())
    if before == 0 and condition.holds(moment):
        return 0
    for event in events:
        moment.follow(event)  # type: ignore[arg-type]
        if before <= moment.state.n <= last and condition.holds(moment):
            return moment.state.n
    return None


@given(st.sampled_from(CONDITIONS), st.integers(0, 110), st.integers(1, 120))
async def test_a_search_finds_what_a_search_by_hand_finds(text: str, before: int, length: int) -> None:
    """For any stretch, the number found is the first of it after which a fold by hand says that the condition holds."""
    log = await _log()
    events = [event async for event in log.read_all()]
    last = min(before + length, len(events))
    found = await find_first(History(log), compile_condition(text), before, last)
    assert found.n == _by_hand(events, text, before, last)
    assert found.already == (found.n == before)


@given(st.sampled_from(MONOTONE), st.integers(0, 110), st.integers(1, 120))
async def test_halving_finds_what_folding_finds(text: str, before: int, length: int) -> None:
    """For conditions that never turn back both ways lead to the same event; halving looks at few states."""
    log, condition = await _log(), compile_condition(text)
    last = min(before + length, (await log.head()).n)
    folded = await find_first(History(log), condition, before, last)
    halved = await find_first_by_halving(History(log), condition, before, last)
    assert (folded.n, folded.already) == (halved.n, halved.already)
    assert halved.events <= 2 + (last - before).bit_length()


async def test_a_search_stops_at_the_first() -> None:
    """What comes after the event that was found is not read any more."""
    log = await _log()
    found = await find_first(History(log), compile_condition("motions == 1"), 0, 118)
    assert found.n == found.events == found.state.n == 61


async def test_what_no_snapshot_holds_is_not_halved() -> None:
    """An imbalance and single events are not part of a state, so halving would miss them; that is refused."""
    with pytest.raises(UserError, match="--monotone: event, imbalance"):
        await find_first_by_halving(
            History(await _log()), compile_condition('imbalance > 4 and event.type == "node.fence"'), 0, 118
        )


async def test_a_slip_in_a_name_is_noticed() -> None:
    """A resource or node that the stretch has never heard of is named; one that is gone again is not."""
    log = await _log()
    condition = compile_condition('resource("vm:999").running or node("node9").exists or resource("vm:102").parked')
    found = await find_first(History(log), condition, 0, 118)
    assert found.n is None
    assert never_there(condition, found.state) == ["node 'node9'", "resource 'vm:999'"]
