"""What other settings would have done: the same inputs, other settings from a point on, and honest comparison."""

from pathlib import Path
from typing import Any

import pytest

from events.errors import UserError
from haes.simulation.scenario import load_scenario
from replay.again import Again, recorded_scenario, run_again
from replay.decisions import essence
from replay.whatif import COURSE_LINES, Comparison, compare
from tests.builders import cluster

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "data"
SCENARIO = load_scenario(SCENARIOS / "fa109", ["ha-auto-rebalance-backoff=series"])


async def _compared(*overrides: str, since: int = 0) -> tuple[Again, Again, Comparison]:
    recorded, otherwise = await run_again(SCENARIO), await run_again(SCENARIO, overrides, since)
    return recorded, otherwise, compare(recorded, otherwise, SCENARIO.settings, since)


async def test_another_policy_is_counted_and_the_parting_is_named() -> None:
    """With policy time fa109 has six failing motions instead of two, and the point where the stories part is named."""
    _, _, comparison = await _compared("ha-auto-rebalance-backoff=time")
    assert (comparison.recorded.failed, comparison.otherwise.failed) == (2, 6)
    assert (comparison.recorded.motions, comparison.otherwise.motions) == (4, 7)
    assert comparison.recorded.last == pytest.approx(25, abs=0.1)
    assert comparison.otherwise.rounds_over > comparison.recorded.rounds_over > 0
    parting = comparison.parting
    assert parting is not None
    assert (parting.at, parting.recorded.type if parting.recorded else None) == (100, "balance.failed")
    text = comparison.to_text()
    assert "Before 100 s both are the same; what comes then was never observed." in text
    assert "event 72 at 100 s: balance.failed of balance (fa:109 to node2, attempt 1)" in text


async def test_the_same_settings_tell_the_same_story() -> None:
    """A setting that was so anyway changes nothing, and nothing is said to differ; inputs are left as they were."""
    before = SCENARIO.to_data()
    for since in (0, 61):
        _, _, comparison = await _compared("ha-auto-rebalance-cooldown=600", since=since)
        assert comparison.parting is None
        assert comparison.recorded == comparison.otherwise
        assert comparison.to_text().endswith("Both tell the same story.")
    assert SCENARIO.to_data() == before


async def test_settings_change_at_the_point_and_not_before() -> None:
    """Up to the point the stories are equal event by event; there the settings change, and only then decisions can."""
    since = 72
    recorded, otherwise, comparison = await _compared("ha-auto-rebalance-threshold=100", since=since)
    [changed] = [event for event in otherwise.events if event.type == "settings.changed" and event.by == "whatif"]
    assert changed.n > since
    assert [essence(event) for event in otherwise.events[: changed.n - 1]] == [
        essence(event) for event in recorded.events[: changed.n - 1]
    ]
    assert comparison.otherwise.motions == 0
    assert comparison.recorded.motions == 3
    assert comparison.parting is not None
    assert comparison.parting.at >= 100
    assert comparison.to_text().startswith("other settings after event 72 at 100 s; counted from there on\n")


async def test_only_what_comes_after_the_point_is_counted() -> None:
    """Motions, failures and imbalances before the point belong to both stories and are left out of the counts."""
    _, _, late = await _compared("ha-auto-rebalance-backoff=time", since=100)
    assert (late.recorded.failed, late.recorded.motions) == (0, 1)
    assert all(at >= late.begin for at, _, _ in late.course)


async def test_a_difference_within_an_event_is_shown() -> None:
    """Where both record the same kind of event, the fields that differ are named with both values."""
    _, _, comparison = await _compared("ha-auto-rebalance-cooldown=0", since=72)
    assert "  recorded / otherwise: cooldown_until 860 / None" in comparison.to_text()


async def test_the_imbalance_has_one_yardstick() -> None:
    """Even a scheduler that looks at no loads leaves its nodes loaded; that is measured all the same."""
    _, _, comparison = await _compared("ha=basic")
    assert comparison.otherwise.motions == 0
    assert comparison.otherwise.last == comparison.otherwise.highest == pytest.approx(100)
    assert [row for row in comparison.course if row[0] == 0] == [(0, 0, 0)]


async def test_a_long_course_is_thinned_for_people_alone() -> None:
    """The text shows a dozen lines from the first to the last; the data has every change."""
    steps = [
        [f"service vm:{resource} set-dynamic-stats cpu {(step * 7 + resource) % 20}" for resource in (1, 2)]
        for step in range(20)
    ]
    scenario = cluster({"vm:1": {"node": 1}, "vm:2": {"node": 2}}, nodes=2, steps=steps)
    story = await run_again(scenario)
    comparison = compare(story, story, scenario.settings)
    assert len(comparison.course) > COURSE_LINES
    shown = [line for line in comparison.to_text().splitlines() if line.startswith("  from ")]
    assert len(shown) == COURSE_LINES
    assert f"{comparison.course[-1][0]:g} s" in shown[-1]
    assert len(comparison.to_data()["course"]) == len(comparison.course)


@pytest.mark.parametrize("value", ["ha=magic", "colour=red", "ha"])
async def test_a_setting_that_does_not_exist_is_refused(value: str) -> None:
    """Keys and values are checked before anything is run."""
    with pytest.raises(UserError, match="--set"):
        await run_again(SCENARIO, [value])


async def test_only_recorded_inputs_can_be_run_again() -> None:
    """A stream that no simulation wrote has no inputs; that is said, and no story is made up."""
    events: Any = [event for event in (await run_again(SCENARIO)).events if event.type != "simulation.started"]
    with pytest.raises(UserError, match="not written by a simulation"):
        recorded_scenario(events)
