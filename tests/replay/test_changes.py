"""What differs between two states, and what an event changed: nothing is missing, nothing is said twice."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haes.balancer.memory import Failure, Motion
from haes.state import ClusterState
from haes.state.records import Parked, ResourceRecord
from replay.changes import Change, change_lines, changes, facts, read_by_people, say_value
from replay.moments import say_time
from replay.walk import Walk
from tests.builders import cluster, motions, tell

VALUES = st.booleans() | st.integers() | st.text(max_size=5)
PLACES = st.tuples(
    st.sampled_from(["cluster", "node", "resource", "balancer"]), st.text(max_size=3), st.text(max_size=3)
)
FACTS = st.dictionaries(PLACES, VALUES, max_size=8)


@given(FACTS, FACTS)
def test_changes_lead_from_one_to_the_other(before: dict[Any, Any], after: dict[Any, Any]) -> None:
    """Applied to the old facts, the changes give the new ones; the way back is the same changes turned round."""
    found = changes(before, after)
    result = dict(before)
    for change in found:
        place = (change.group, change.name, change.field)
        if change.kind == "removed":
            del result[place]
        else:
            result[place] = change.new
    assert result == after
    assert [(c.group, c.name, c.field, c.new, c.old) for c in changes(after, before)] == [
        (c.group, c.name, c.field, c.old, c.new) for c in found
    ]


async def test_walking_a_story_tells_every_change() -> None:
    """Step by step the changes of a whole story add up to its last state, and steps passed over are not lost."""
    story = await tell(
        cluster({f"vm:{number}": {"node": 1} for number in range(1, 5)}, nodes=2, rounds=3),
        motions(fail=lambda resource, target, _: (resource, target) == ("vm:1", "node2")),
    )
    walk, known = Walk(ClusterState()), facts(ClusterState())
    for event in story.events:
        if event.n % 7 == 0:
            walk.pass_over(event)
            known = facts(walk.state)
            continue
        for change in walk.take(event).changes:
            place = (change.group, change.name, change.field)
            assert known.pop(place, None) == change.old
            if change.new is not None:
                known[place] = change.new
    assert known == facts(story.state)
    assert known["resource", "vm:2", "node"] == "node2"
    assert known["resource", "vm:1", "failed.node2.attempts"] == 1


def test_what_the_balancer_remembers_stands_with_its_resource() -> None:
    """Failures, rests, open motions and parked events are told under the resource that they are about."""
    state = ClusterState()
    state.balance.failures["vm:1", "node2"] = Failure(2, until=160, first_series=None, reason="exit code 1")
    state.balance.cooldowns["vm:2"] = 860.0
    state.balance.motion = Motion(4, 1, "time", "migrate", "vm:3", "node1", "node2", {"vm:3": "open"})
    state.parked["vm:4"] = Parked(7, "not from here")
    state.resources["vm:5"] = ResourceRecord("started", "node1", request=("migrate", "node2", "motion/4"))
    lines = change_lines(changes(facts(ClusterState()), facts(state)))
    assert "  added    failed.node2.attempts: 2" in lines[lines.index("resource vm:1") :]
    assert lines[lines.index("resource vm:2") + 1] == "  added    rests_until: 860"
    assert lines[lines.index("resource vm:3") + 1] == "  added    motion.4: open"
    assert lines[lines.index("resource vm:4") + 1] == "  added    parked: not from here"
    assert "  added    request: migrate, node2, motion/4" in lines
    assert lines[-1] == "  added    motion: 4, migrate vm:3 from node1 to node2"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (None, "node2", "target: node2"),
        ("node2", None, "target (was node2)"),
        ("node1", "node2", "target: node1 -> node2"),
        (False, True, "target: no -> yes"),
    ],
)
def test_a_change_says_old_and_new(old: Any, new: Any, text: str) -> None:
    """What was added, removed or changed is told with its value before and after."""
    assert Change("resource", "vm:1", "target", old, new).to_text() == text


def test_values_stay_on_one_line() -> None:
    """A text of several lines, such as rules, is quoted; long times keep their seconds."""
    assert say_value("a\nb") == '"a\\nb"'
    assert say_value(1764572323.25) == "1764572323.25"


def test_what_a_service_died_of_is_told_in_words() -> None:
    """The record of a service stands with it, its times are times, and no list of the program shows through."""
    deaths = [{"at": 1764572323.9, "node": "node1", "ran": 5.9, "how": "killed by SIGTERM", "code": None}]
    change = Change("resource", "process:web", "service.deaths", None, deaths)
    assert change.to_text() == f"service.deaths: at {say_time(1764572323.9)} node node1 ran 5.9 how killed by SIGTERM"
    assert Change("resource", "process:web", "service.up_since", 80.0, 90.0).to_text() == "service.up_since: 80 -> 90"
    announced = Change("cluster", "", "announced.agent/node1.job.done", None, 1)
    assert read_by_people([announced, change]) == [change]
