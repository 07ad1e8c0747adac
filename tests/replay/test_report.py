"""What a replay says of a state: tables and data that follow from the fold alone, with nothing left out or guessed."""

from typing import Any

import pytest

from haes.balancer.memory import FAILED, OPEN, Failure, Motion
from haes.state import ClusterState
from haes.state.records import Parked, ResourceRecord
from replay.report import Table, headline, summary, tables
from tests.builders import cluster, motions, tell


def _table(state: ClusterState, begins: str) -> Table:
    return next(table for table in tables(state) if table.title.startswith(begins))


def _state(at: float, **memory: Any) -> ClusterState:
    state = ClusterState()
    state.name, state.at = "main", at
    for name, value in memory.items():
        setattr(state.balance, name, value)
    return state


@pytest.mark.parametrize(
    ("at", "failure", "left_out"),
    [
        (100, Failure(1, until=160, first_series=None, reason="exit code 1"), "60 s, until 160"),
        (160, Failure(1, until=160, first_series=None, reason="exit code 1"), "no longer"),
        (100, Failure(2, until=None, first_series=4, reason="exit code 1"), "until series 4"),
        (100, Failure(2, until=None, first_series=3, reason="exit code 1"), "no longer"),
        (100, Failure(5, until=None, first_series=None, reason="exit code 1"), "never"),
    ],
)
def test_a_failure_says_how_long_it_is_left_out(at: float, failure: Failure, left_out: str) -> None:
    """By time, by series, or not at all: the end of a back-off is shown as the balancer would take it."""
    state = _state(at, series=3, failures={("fa:102", "node2"): failure})
    assert _table(state, "Failures").rows == [("fa:102", "node2", str(failure.attempts), left_out, "exit code 1")]
    assert summary(state)["failures"][0]["left_out"] is (left_out[0] in "6u")


@pytest.mark.parametrize(("at", "left"), [(100, "500 s"), (599.5, "0.5 s"), (600, "over"), (700, "over")])
def test_a_cooldown_ends_at_its_end(at: float, left: str) -> None:
    """A moved resource rests until then, and not a moment longer."""
    assert _table(_state(at, cooldowns={"vm:101": 600}), "Cooldowns").rows == [("vm:101", "600", left)]


def test_pending_motions_are_shown_by_member_with_who_asked() -> None:
    """Queued requests, motions under way and members whose end is not recorded yet stand beside each other."""
    members = {"vm:101": OPEN, "vm:102": FAILED, "vm:103": OPEN, "vm:104": OPEN}
    state = _state(
        100,
        motion=Motion(4, 1, "series", "migrate", "vm:101", "node1", "node2", members),
    )
    state.resources = {
        "vm:101": ResourceRecord("migrate", "node1", target="node2", origin="motion/4"),
        "vm:103": ResourceRecord("started", "node1", request=("migrate", "node2", "motion/4")),
        "vm:104": ResourceRecord("started", "node2", running=True),
        "vm:105": ResourceRecord("started", "node1", request=("relocate", "node3", "command/7")),
        "vm:106": ResourceRecord("started", "node1", request=("stop", 30, "command/8")),
    }
    assert _table(state, "Pending").rows == [
        ("vm:101", "migrate", "node1", "node2", "under way", "motion/4"),
        ("vm:103", "migrate", "node1", "node2", "queued", "motion/4"),
        ("vm:105", "relocate", "node1", "node3", "queued", "command/7"),
        ("vm:104", "migrate", "node1", "node2", "outcome not yet recorded", "motion/4"),
    ]
    assert [row["balancer"] for row in summary(state)["pending"]] == [True, True, False, True]


def test_parked_subjects_are_shown_with_the_event_that_parked_them() -> None:
    """An event that could not be applied is never out of sight; without one the table is left out."""
    state = _state(100)
    assert not any(table.title.startswith("Parked") for table in tables(state))
    state.parked["vm:101"] = Parked(n=7, reason="resource.stopped: not from here")
    assert _table(state, "Parked").rows == [("vm:101", "7", "resource.stopped: not from here")]


def test_the_headline_tells_of_the_breaker() -> None:
    """Failed motions in a row and a pause that still lasts are said at once; a pause that is over is not."""
    memory = {"series": 3, "motions": 12, "failed_in_a_row": 10, "paused_until": 700.0}
    assert headline(_state(100, **memory)).endswith("series 3, 12 motions, 10 failed in a row, paused until 700")
    assert headline(_state(700, **memory)).endswith("series 3, 12 motions, 10 failed in a row")
    assert headline(_state(700)).endswith("series 1, 0 motions")


def test_an_empty_state_is_said_in_words() -> None:
    """Tables without rows have words for it, so that nothing looks forgotten."""
    assert all(table.rows or table.empty for table in tables(ClusterState()))


async def test_a_story_ends_in_the_tables_that_it_should() -> None:
    """Where every motion to node2 fails, the tables name the pairs, the attempts and the resource that moved at last."""
    story = await tell(
        cluster({f"vm:{number}": {"node": 1} for number in range(1, 5)}, nodes=2, rounds=3),
        motions(fail=lambda resource, target, _: (resource, target) == ("vm:1", "node2")),
    )
    said = summary(story.state)
    assert [(row["resource"], row["target"], row["attempts"]) for row in said["failures"]] == [("vm:1", "node2", 1)]
    assert {row["resource"] for row in said["cooldowns"]} == {
        event.payload["resource"] for event in story.of("balance.moved")
    }
    assert said["cooldowns"]
    assert {row["node"]: row["resources"] for row in said["nodes"]} == {"node1": 2, "node2": 2}
