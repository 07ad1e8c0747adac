"""How motions end, and who is blamed for it."""

import pytest

from events.envelope import Event
from haes.agent.jobs import JobQueue
from haes.state.batch import Batch
from tests.builders import asked, cluster, motions, tell
from tests.scenarios.sample import load

CROWDED = {"vm:101": {"node": 1, "auto-rebalance": 0}, "vm:102": {"node": 1}}


async def test_the_third_motion_of_a_failing_first_choice_is_another_resource() -> None:
    """A resource that fails on both targets is left alone within the series, and the good third choice moves."""
    story = await tell(load("fa109"))
    assert story.motions()[:3] == [("fa:109", "node2"), ("fa:109", "node3"), ("vm:102", "node2")]


async def test_an_agent_reports_a_failure_twice_and_it_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that are repeated at once, or after the leader has used the first, change nothing."""
    scenario = cluster({"fa:109": {"node": 1}, "vm:102": {"node": 1}, "vm:103": {"node": 1}})
    undisturbed = await tell(scenario)
    report = JobQueue.report
    said: dict[JobQueue, list[Event]] = {}

    def stutter(queue: JobQueue, batch: Batch) -> None:
        before = len(batch.events)
        for event in said.get(queue, []):
            batch.emit(event.type, event.subject, cause=event.cause, **event.payload)
        again = len(batch.events)
        report(queue, batch)
        said[queue] = batch.events[again:]
        for event in said[queue]:
            batch.emit(event.type, event.subject, cause=event.cause, **event.payload)
        assert before <= again

    monkeypatch.setattr(JobQueue, "report", stutter)
    stuttered = await tell(scenario)
    assert len(stuttered.of("job.done")) == 3 * len(undisturbed.of("job.done"))
    assert [event.payload["attempts"] for event in stuttered.of("balance.failed")] == [1, 1]
    assert stuttered.journal() == undisturbed.journal()


async def test_the_report_of_a_resource_does_not_answer_for_one_whose_name_it_begins() -> None:
    """While vm:101 moves, a failed motion of vm:10 that an operator asked for says nothing about vm:101."""
    light, heavy = {"node": 1, "mem": 1}, {"node": 1, "cpu": 4, "mem": 8}
    scenario = cluster(
        {"vm:10": light, "vm:101": heavy, "vm:103": heavy}, steps=[["service vm:10 migrate node3"]], rounds=4
    )
    story = await tell(scenario, motions(slow={"vm:101": 300}, fail=lambda resource, *_: resource == "vm:10"))
    first = story.of("resource.motion_failed")[0]
    assert (first.subject, first.at < 300) == ("vm:10", True)
    assert story.outcomes()[0] == ("balance.moved", "vm:101", "node2")


async def test_a_success_clears_only_its_pair() -> None:
    """The failures of the pair that worked are forgotten, those of the same resource elsewhere are not."""
    failed_once: set[str] = set()

    def fail(_resource: str, target: str, _at: float) -> bool:
        first = target not in failed_once
        failed_once.add(target)
        return first

    story = await tell(cluster(CROWDED, rounds=10), motions(fail=fail))
    assert story.outcomes() == [
        ("balance.failed", "vm:102", "node2"),
        ("balance.failed", "vm:102", "node3"),
        ("balance.moved", "vm:102", "node2"),
    ]
    assert list(story.state.balance.failures) == [("vm:102", "node3")]


async def test_the_failed_command_of_an_operator_does_not_count() -> None:
    """The balancer remembers only how its own motions ended."""
    scenario = cluster(
        {"fa:109": {"node": 1}, "vm:102": {"node": 2}, "vm:103": {"node": 3}},
        steps=[["service fa:109 relocate node2"]],
    )
    story = await tell(scenario)
    assert [event.subject for event in story.of("resource.motion_failed")] == ["fa:109"]
    assert not story.outcomes()
    assert not story.state.balance.failures


@pytest.mark.parametrize("source", [1, 2])
async def test_the_source_node_fenced_in_the_middle_of_a_motion_blames_nobody(source: int) -> None:
    """When the node from which a resource moves is lost, with the leader or without, the motion is only closed."""
    resources = {name: {**values, "node": source} for name, values in CROWDED.items()}
    scenario = cluster(resources, steps=[[f"power node{source} off"]], rounds=8)
    story = await tell(scenario, motions(slow={"vm:102": 200}))
    first = story.motions()[0]
    assert first[0] == "vm:102"
    assert story.of("node.fenced")
    assert story.outcomes()[0][:2] == ("balance.dropped", "vm:102")
    assert not story.of("balance.failed")
    assert not story.state.balance.failures
    assert not story.state.balance.cooldowns


@pytest.mark.parametrize("mode", ["freeze", "ignore"])
async def test_a_report_that_comes_while_a_disarm_is_pending_counts(mode: str) -> None:
    """Disarming waits for a motion under way; how that ends is remembered, and nothing else is moved."""
    scenario = cluster(CROWDED, steps=[[f"crm node1 disarm-ha {mode}"]], rounds=8)
    story = await tell(scenario, motions(slow={"vm:102": 300}, fail=lambda *_: True))
    assert story.outcomes() == [("balance.failed", "vm:102", "node2")]
    assert story.state.disarm is not None
    assert story.state.disarm.state == "disarmed"
    assert story.reasons()[-1] == "disarmed"


async def test_a_resource_deleted_in_the_middle_of_its_motion_is_dropped() -> None:
    """Nobody is blamed for a resource that is no longer there, and the motion does not stay open."""
    scenario = cluster(CROWDED, steps=[["service vm:102 delete"]], rounds=8)
    story = await tell(scenario, motions(slow={"vm:102": 300}))
    assert story.outcomes() == [("balance.dropped", "vm:102", "removed")]
    assert story.state.balance.motion is None
    assert not story.state.balance.failures


async def test_a_resource_deleted_while_a_disarm_is_pending_leaves_no_memory() -> None:
    """A failure that is reported for a resource without configuration is not remembered for ever."""
    steps = [["crm node1 disarm-ha freeze"], ["service vm:102 delete"], [], ["crm node1 arm-ha"]]
    story = await tell(cluster(CROWDED, steps=steps, rounds=8), motions(slow={"vm:102": 300}, fail=lambda *_: True))
    assert "vm:102" not in story.state.resources
    assert not story.state.balance.failures


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (("", ""), set()),
        (("vm:102", ""), set()),
        (("vm:102", "node2"), {("vm:102", "node3")}),
        (("", "node3"), {("vm:102", "node2")}),
        (("vm:103", ""), {("vm:102", "node2"), ("vm:102", "node3")}),
    ],
)
async def test_an_operator_clears_all_a_resource_or_a_pair(words: tuple[str, str], left: set[tuple[str, str]]) -> None:
    """The retry command clears exactly what it names, by an event, in the leader's next round."""
    scenario = cluster(CROWDED, crs={"ha-auto-rebalance-hold-duration": 5}, rounds=4)
    story = await tell(scenario, motions(fail=lambda *_: True), asked(380, "rebalance-retry", *words))
    before: set[tuple[str, str]] = set()
    for event in story.events:
        if event.type == "balance.failed":
            before.add((event.payload["resource"], event.payload["target"]))
        if event.type == "balance.retried":
            break
    assert before == {("vm:102", "node2"), ("vm:102", "node3")}
    (retried,) = story.of("balance.retried")
    assert (retried.payload["resource"], retried.payload["target"]) == (words[0] or None, words[1] or None)
    remembered = set(before)
    again = [event for event in story.of("balance.failed") if event.n > retried.n]
    remembered = {pair for pair in before if pair in left}
    for event in again:
        pair = (event.payload["resource"], event.payload["target"])
        assert (event.payload["attempts"] == 1) == (pair not in remembered)
        remembered.add(pair)
    assert set(story.state.balance.failures) == remembered
    assert not story.state.commands
