"""What an engineer asks of a stream afterwards: explanations and points."""

from pathlib import Path

import pytest

from events.envelope import Event
from events.errors import UserError
from events.history import History
from events.log.memory import MemoryLog
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from replay.explain import explain_resource
from replay.explain_motion import explain_motion
from replay.points import find_point

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "data"
GOLDEN = Path(__file__).parent / "golden"
SERIES = ["ha-auto-rebalance-backoff=series"]


async def _live(name: str, overrides: list[str] | None = None) -> tuple[MemoryLog, list[Event]]:
    log, events = MemoryLog("main"), list[Event]()
    await simulate(load_scenario(SCENARIOS / name, overrides), log, events.append)
    return log, events


async def test_explain_tells_why_one_moved_and_the_other_did_not() -> None:
    """The words on fa109 are the recorded ones: why vm:102 moved, and why fa:109 did not."""
    log, events = await _live("fa109", SERIES)
    told = "\n\n".join(
        ["\n".join((await explain_resource(History(log), name))[0].to_lines()) for name in ("fa:109", "vm:102")]
    )
    motion = next(event for event in events if event.type == "balance.motion" and event.payload["number"] == 3)
    assert f"{told}\n\n" + "\n".join(explain_motion(motion)) + "\n" == (GOLDEN / "fa109.txt").read_text(
        encoding="utf-8"
    )


async def test_explain_knows_what_held_at_a_point() -> None:
    """As of a moment between the failures, fa:109 is held back from node2 with its attempts and their end."""
    log, _ = await _live("fa109", SERIES)
    point = await find_point(History(log), "@120")
    explanation, state = await explain_resource(History(log), "fa:109", point.n)
    assert state.at <= 120
    assert "node2 is left out until series 3 (now 1) after 1 failed attempt (exit code 1)" in explanation.holds


@pytest.mark.parametrize(("text", "n"), [("40", 40), ("@80", None), ("-5m", None), ("1970-01-01T00:01:20+00:00", None)])
async def test_points_name_the_last_event_up_to_there(text: str, n: int | None) -> None:
    """Numbers, times and distances from the end lead to the last event at or before them."""
    log, events = await _live("fa109")
    point = await find_point(History(log), text)
    limit = {"@80": 80, "1970-01-01T00:01:20+00:00": 80}.get(text, events[-1].at - 300)
    expected = n or max(event.n for event in events if event.at <= limit)
    assert point.n == expected
    assert (await find_point(History(log), events[10].id)).n == 11


@pytest.mark.parametrize("text", ["yesterday", "-5x", "@"])
async def test_what_is_no_point_is_refused(text: str) -> None:
    """A point that cannot be understood is named with the forms that can."""
    log, _ = await _live("fa109")
    with pytest.raises(UserError, match="expected a sequence number"):
        await find_point(History(log), text)
