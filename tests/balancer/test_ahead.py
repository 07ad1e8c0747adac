"""The balancer with method plan: it plans, follows its plan, and plans anew when something goes another way."""

from replay.explain_motion import explain_motion, find_motion, find_plan
from tests.builders import apart, cluster, motions, tell

PLANS = {
    "ha-auto-rebalance-method": "plan",
    "ha-auto-rebalance-threshold": 10,
    "ha-auto-rebalance-max-target-load": 80,
    "ha-auto-rebalance-cooldown": 600,
}
# Three units of one size on one of three nodes.
HEAPED = {f"vm:10{number}": {"node": 1, "cpu": 6, "mem": 6} for number in range(1, 4)}


async def test_a_plan_is_recorded_and_followed_step_by_step() -> None:
    """The plan stands on the record before its first motion, its motions carry its number, and it ends at rest."""
    story = await tell(cluster(HEAPED, crs=PLANS, rounds=14))
    (plan,) = story.of("balance.plan")
    steps = [(step["resource"], step["target"]) for step in plan.payload["steps"]]
    assert len(steps) == plan.payload["bound"] == 2
    assert plan.payload["at_rest"]
    assert story.motions() == steps
    issued = [(event.payload["plan"], event.payload["step"]) for event in story.of("balance.motion")]
    assert issued == [(1, 1), (1, 2)]
    (ended,) = story.of("balance.plan_ended")
    assert ended.payload["made"] == 2
    assert story.state.balance.plan is None
    assert story.state.balance.plans == 1
    assert len({story.state.resources[name].node for name in HEAPED}) == 3


async def test_a_failed_motion_ends_the_plan_and_the_next_one_leaves_it_out() -> None:
    """After a failure another plan is made, without the pair that failed."""
    first = "vm:101"
    story = await tell(
        cluster(HEAPED, crs=PLANS, rounds=20),
        motions(fail=lambda name, target, _at: (name, target) == (first, "node2")),
    )
    plans = story.of("balance.plan")
    assert len(plans) > 1
    assert story.of("balance.plan_ended")[0].payload["reason"] == "a motion did not end as planned"
    assert all((step["resource"], step["target"]) != (first, "node2") for step in plans[1].payload["steps"])
    assert len({story.state.resources[name].node for name in HEAPED}) == 3


async def test_a_node_over_the_ceiling_is_relieved_though_loads_are_even_enough() -> None:
    """With method plan a node over the ceiling is a reason to act by itself."""
    crs = {**PLANS, "ha-auto-rebalance-threshold": 100, "ha-auto-rebalance-max-target-load": 60}
    story = await tell(cluster(HEAPED, crs=crs, rounds=10))
    assert len(story.motions()) == 1
    assert story.of("balance.plan")[0].payload["excess"] > 0


async def test_two_that_keep_apart_change_places() -> None:
    """A plan moves one out of the way of the other, which no single best motion does."""
    resources = {
        "vm:101": {"node": 1, "cpu": 9, "mem": 6},
        "vm:102": {"node": 1, "cpu": 9, "mem": 6},
        "vm:103": {"node": 2, "cpu": 3, "mem": 2},
    }
    story = await tell(
        cluster(
            resources,
            nodes=2,
            crs={**PLANS, "ha-auto-rebalance-max-target-load": 100},
            rules=apart("vm:101", "vm:103"),
            rounds=14,
        )
    )
    (plan,) = story.of("balance.plan")
    assert [(step["resource"], step["target"]) for step in plan.payload["steps"]] == story.motions()
    where = {name: record.node for name, record in story.state.resources.items()}
    assert where["vm:101"] != where["vm:103"]


async def test_the_other_methods_record_no_plan() -> None:
    """Without the method nothing of a plan is on record."""
    story = await tell(cluster(HEAPED, crs={**PLANS, "ha-auto-rebalance-method": "bruteforce"}, rounds=14))
    assert story.motions()
    assert story.of("balance.plan", "balance.plan_ended") == []
    assert all("plan" not in event.payload for event in story.of("balance.motion"))


async def test_an_explanation_tells_plan_step_and_why_no_shorter_one() -> None:
    """Whoever asks for a motion of a plan is told all of its steps and that fewer cannot do it."""
    story = await tell(cluster(HEAPED, crs=PLANS, rounds=14))
    motion = find_motion(story.events, 2)
    told = explain_motion(motion, find_plan(story.events, motion))
    assert "  it is step 2 of plan 1" in told
    assert "  that plan was for an imbalance of 100.0% and nodes over the ceiling" not in told
    assert "  that plan was for an imbalance of 100.0%" in told
    assert "  a shorter one does not exist: no 1 motions end under threshold and ceiling" in told
