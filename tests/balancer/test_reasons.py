"""Every choice and every refusal has its reason on the stream."""

import pytest

from tests.builders import apart, cluster, motions, tell
from tests.scenarios.sample import load, of_kinds

THREE = {name: {"node": 1} for name in ("vm:101", "vm:102", "vm:103")}


async def test_a_motion_says_what_it_was_chosen_from_and_what_was_left_out() -> None:
    """The event holds the imbalance before and after, the best alternatives, and why others were excluded."""
    resources = {**THREE, "vm:104": {"node": 1, "auto-rebalance": 0}}
    story = await tell(cluster(resources), motions(fail=lambda resource, *_: resource == "vm:101"))
    first, second = story.of("balance.motion")[:2]
    assert first.payload["before"] == pytest.approx(1.0)
    assert first.payload["after"] < first.payload["before"]
    alternatives = first.payload["alternatives"]
    assert alternatives
    assert [item["after"] for item in alternatives] == sorted(item["after"] for item in alternatives)
    assert all(item["after"] >= first.payload["after"] for item in alternatives)
    assert [(item["resource"], item["reason"]) for item in first.payload["excluded"]] == [("vm:104", "flag")]
    (backoff,) = [item for item in second.payload["excluded"] if item["reason"] == "backoff"]
    assert (backoff["resource"], backoff["target"], backoff["attempts"]) == ("vm:101", "node2", 1)
    assert backoff["why"] == "exit code 1"


async def test_a_cooldown_says_until_when() -> None:
    """What rests is named with the end of its rest."""
    story = await tell(cluster(THREE, rounds=6, crs={"ha-auto-rebalance-threshold": 10}))
    moved = story.of("balance.moved")[0]
    excluded = story.of("balance.motion")[1].payload["excluded"]
    assert (moved.payload["resource"], moved.payload["cooldown_until"]) in [
        (item["resource"], item["until"]) for item in excluded if item["reason"] == "cooldown"
    ]


@pytest.mark.parametrize(
    ("crs", "reason"),
    [
        ({"ha": "basic"}, "scheduler_mode"),
        ({"ha-auto-rebalance-margin": 90}, "under_margin"),
        ({"ha-auto-rebalance-threshold": 100}, "balanced"),
        ({}, "motion_running"),
    ],
)
async def test_a_refusal_says_why(crs: dict[str, object], reason: str) -> None:
    """Whoever wonders why nothing is done finds the reason."""
    story = await tell(cluster(THREE, crs=crs))
    assert reason in story.reasons()


async def test_no_legal_target_is_a_reason() -> None:
    """Rules that leave nowhere to go are named as such."""
    resources = {"vm:101": {"node": 1, "mem": 8}, "vm:102": {"node": 2, "mem": 1}, "vm:103": {"node": 3, "mem": 1}}
    story = await tell(cluster(resources, rules=apart("vm:101", "vm:102", "vm:103")))
    assert not story.motions()
    assert "no_legal_target" in story.reasons()


@pytest.mark.parametrize("name", of_kinds("memory", "rebalance-rules"))
async def test_a_reason_is_said_once_per_change(name: str) -> None:
    """No refusal repeats the one before it unless a motion or advice came in between."""
    story = await tell(load(name))
    last = None
    for event in story.of("balance.refused", "balance.motion", "balance.advised"):
        reason = event.payload["reason"] if event.type == "balance.refused" else None
        assert reason is None or reason != last
        last = reason


async def test_refusals_are_silent_in_the_journal() -> None:
    """Refusals, series and pauses are events for those who ask, not lines for all."""
    story = await tell(cluster(THREE))
    assert story.of("balance.refused")
    assert not [line for line in story.journal() if "refused" in line or "series" in line]
