"""Explanations: why nothing was done, why this motion and how it ended, and what holds a resource where it is."""

from typing import Any

import pytest

from events.errors import UserError
from events.history import History
from haes.state.records import Parked
from replay.explain import _holds_of_itself, explain_resource
from replay.explain_motion import end_lines, explain_motion, find_motion, motion_ends
from replay.explain_quiet import MOVING, NO_LEADER, OFF, Quiet, explain_quiet
from tests.builders import Story, cluster, motions, tell, together

UNEVEN: dict[str, dict[str, Any]] = {f"vm:{number}": {"node": 1} for number in range(1, 5)}


async def _failing(**crs: Any) -> Story:
    """Returns a story in which every motion of vm:1 to node2 fails."""
    settings = {f"ha-auto-rebalance-{name.replace('_', '-')}": value for name, value in crs.items()}
    return await tell(
        cluster(UNEVEN, nodes=2, crs=settings, rounds=3),
        motions(fail=lambda resource, target, _: (resource, target) == ("vm:1", "node2")),
    )


async def _quiet(story: Story, since: float, last: int | None = None) -> Quiet:
    before = max((event.n for event in story.events if event.at < since), default=0)
    return await explain_quiet(History(story.log), before, since, last)


async def test_the_reasons_fill_the_whole_stretch() -> None:
    """Seconds add up to the stretch, the longest reason comes first, and a reason that began before it counts."""
    story = await _failing()
    for since in (0, 30, 100, 250, 500):
        quiet = await _quiet(story, since)
        assert sum(reason.seconds for reason in quiet.reasons.values()) == quiet.until - quiet.since
        seconds = [reason.seconds for reason in quiet.reasons.values()]
        assert seconds == sorted(seconds, reverse=True)
    last = story.of("balance.refused")[-1]
    quiet = await _quiet(story, last.at + 1)
    assert list(quiet.reasons) == ["balanced"]
    assert quiet.reasons["balanced"].times == 1
    assert quiet.timeline == []
    assert quiet.standing is not None
    assert quiet.standing[:2] == (last.at, last.n)
    assert [line for line in quiet.to_lines() if "the load is balanced, imbalance" in line and "(said before" in line]


async def test_the_ceiling_is_named_however_long_ago_it_was_met() -> None:
    """What a refusal left out stands in the explanation of every stretch in which it held, with its setting."""
    story = await _failing(max_target_load=1)
    last = story.of("balance.refused")[-1]
    assert last.payload["reason"] == "everything_excluded"
    for since in (0, last.at + 1, story.state.at + 100):
        told = "\n".join((await _quiet(story, since)).to_lines())
        assert "everything that could move is left out" in told
        assert "over its ceiling (ha-auto-rebalance-max-target-load)" in told


async def test_what_was_said_and_left_out_is_counted() -> None:
    """Refusals, motions and their ends stand in the timeline; what was left out is counted by reason."""
    story = await _failing(cooldown=600)
    quiet = await _quiet(story, 0)
    assert quiet.motions == len(story.motions()) >= 2
    texts = [text for _, _, text in quiet.timeline]
    assert "motion 1 of vm:1 to node2" in texts
    assert "failed: vm:1 to node2, attempt 1" in texts
    assert [text for text in texts if text.startswith("the load is balanced, imbalance ")]
    excluded = [item for event in story.of("balance.motion") for item in event.payload["excluded"]]
    assert quiet.left_out["backoff"] == sum(item["reason"] == "backoff" for item in excluded) >= 1
    assert quiet.reasons[MOVING].seconds > 0
    assert quiet.imbalance is not None
    assert quiet.imbalance[0] < quiet.threshold == 30
    assert "vm:2 rests until " in "\n".join(quiet.to_lines())
    assert quiet.to_data()["motions"] == quiet.motions


async def test_a_balancer_that_cannot_look_has_its_reason_too() -> None:
    """Before anybody leads, and while the balancer is off, that is the reason; nothing is blamed on balance."""
    story = await tell(cluster(UNEVEN, nodes=2, crs={"ha-auto-rebalance": 0}))
    quiet = await _quiet(story, 0)
    assert set(quiet.reasons) == {NO_LEADER, OFF}
    assert "none is on record" in "\n".join(quiet.to_lines())
    assert list((await _quiet(story, story.state.at + 100)).reasons) == [OFF]


async def test_a_motion_is_told_with_its_end() -> None:
    """Imbalance before and after, alternatives and exclusions say why; each member's end says what came of it."""
    story = await _failing()
    first = find_motion(story.events, 1)
    assert explain_motion(first)[1].strip().startswith("migrate vm:1 from node1 to node2, imbalance 100.0% to ")
    [end] = motion_ends(story.events, first)
    failed = story.of("balance.failed")[0]
    assert (end["n"], end["resource"], end["end"], end["why"]) == (failed.n, "vm:1", "failed", failed.payload["reason"])
    second = find_motion(story.events, 2)
    assert [line for line in explain_motion(second) if "vm:1 to node2: failed 1 times" in line]
    assert "arrived, at " in end_lines(motion_ends(story.events, second))[1]
    assert motion_ends(story.events[: second.n], second) == [
        {"resource": member, "end": "open"} for member in second.payload["members"]
    ]
    with pytest.raises(UserError, match="there is no motion 99; the balancer issued 3"):
        find_motion(story.events, 99)


async def test_a_bundle_ends_member_by_member() -> None:
    """Members that arrive and members that fail are told apart."""
    story = await tell(
        cluster(UNEVEN, nodes=2, rules=together("vm:1", "vm:2")),
        motions(fail=lambda resource, *_: resource == "vm:2"),
    )
    bundle = next(event for event in story.of("balance.motion") if len(event.payload["members"]) == 2)
    assert {end["resource"]: end["end"] for end in motion_ends(story.events, bundle)} == {
        "vm:1": "moved",
        "vm:2": "failed",
    }


async def test_what_holds_a_resource_is_named() -> None:
    """Error, lock, another requested state, the flag and a parked event are all said."""
    story = await _failing()
    state = story.state
    state.resources["vm:1"].state = "error"
    state.configurations["vm:1"].lock = "backup"
    state.configurations["vm:1"].state = "stopped"
    state.configurations["vm:1"].auto_rebalance = False
    state.parked["vm:1"] = Parked(7, "not from here")
    holds = _holds_of_itself(state, "vm:1")
    for words in (
        "event 7 about it",
        "in state error",
        "asked to be stopped",
        "locked (backup)",
        "auto-rebalance is 0",
    ):
        assert [hold for hold in holds if words in hold], words
    assert _holds_of_itself(state, "vm:2") == []


async def test_a_chain_begins_where_the_last_move_began() -> None:
    """What led a recovered resource to its node is the fencing of the node before, not its whole life."""
    story = await tell(
        cluster({"vm:1": {"node": 1}, "vm:2": {"node": 2}}, crs={"ha-auto-rebalance": 0}, steps=[["network node1 off"]])
    )
    explanation, state = await explain_resource(History(story.log), "vm:1")
    assert state.resources["vm:1"].node != "node1"
    texts = [step.text for step in explanation.chain]
    assert texts == [
        "its node does not answer and is to be fenced",
        f"recovered from the fenced node node1 to {state.resources['vm:1'].node}",
    ]
