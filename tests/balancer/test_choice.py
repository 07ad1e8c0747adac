"""What the balancer chooses, what it never chooses, and why it acts at all."""

import pytest

from tests.builders import Story, apart, cluster, motions, tell

THREE = {name: {"node": 1} for name in ("vm:101", "vm:102", "vm:103")}


async def test_a_rule_to_keep_apart_with_one_member_changes_nothing() -> None:
    """Such a rule separates nothing: the balancer does as it would without it."""
    without, with_rule = await tell(cluster(THREE)), await tell(cluster(THREE, rules=apart("vm:101")))
    assert without.motions()
    assert with_rule.motions() == without.motions()
    assert with_rule.outcomes() == without.outcomes()


async def test_a_rule_to_keep_apart_is_kept() -> None:
    """No motion brings two resources together that must be apart."""
    resources = {**THREE, "vm:104": {"node": 2, "mem": 1}}
    story = await tell(cluster(resources, rules=apart("vm:101", "vm:104"), rounds=8))
    assert story.motions()
    assert ("vm:101", "node2") not in story.motions()


async def test_a_node_in_maintenance_is_never_a_target() -> None:
    """Nothing is moved to a node that operators took out of service, however empty it is."""
    scenario = cluster(
        THREE,
        crs={"ha-auto-rebalance-hold-duration": 8},
        steps=[["crm node2 enable-node-maintenance"]],
        rounds=8,
    )
    story = await tell(scenario)
    assert story.state.nodes["node2"] == "maintenance"
    assert story.motions()
    assert {target for _, target in story.motions()} == {"node3"}


@pytest.mark.parametrize("policy", ["none", "time", "series"])
@pytest.mark.parametrize("method", ["bruteforce", "topsis"])
async def test_the_only_loaded_resource_is_never_carried_around(policy: str, method: str) -> None:
    """A motion that does not lower the imbalance is not issued, under any policy, not even with margin 0."""
    crs = {
        "ha-auto-rebalance-margin": 0,
        "ha-auto-rebalance-backoff": policy,
        "ha-auto-rebalance-method": method,
        "ha-auto-rebalance-cooldown": 0,
    }
    story = await tell(cluster({"vm:101": {"node": 1}}, crs=crs))
    assert not story.motions()
    assert "no_improvement" in story.reasons()


async def test_no_motion_brings_its_target_over_the_ceiling() -> None:
    """With a highest target load, targets fill up to it and the reason names what it would have been."""
    five = {f"vm:10{number}": {"node": 1} for number in range(1, 6)}
    free = await tell(cluster(five, rounds=12))
    capped = await tell(cluster(five, crs={"ha-auto-rebalance-max-target-load": 20}, rounds=12))
    assert max(_on(free, node) for node in ("node2", "node3")) == 2
    assert [_on(capped, node) for node in ("node2", "node3")] == [1, 1]
    excluded = capped.of("balance.refused")[-1].payload["details"]["excluded"]
    assert {(item["reason"], item["percent"]) for item in excluded if item["reason"] == "ceiling"} == {
        ("ceiling", 25.0)
    }


async def test_a_large_cluster_with_an_idle_node_needs_the_spread() -> None:
    """One idle node among six equals stays under the default threshold; the spread sees it."""
    resources = {f"vm:1{node}{number}": {"node": node} for node in range(1, 6) for number in range(3)}
    blind = await tell(cluster(resources, nodes=6))
    assert not blind.motions()
    seeing = await tell(cluster(resources, nodes=6, crs={"ha-auto-rebalance-max-spread": 15}))
    assert seeing.motions()
    assert {target for _, target in seeing.motions()} == {"node6"}


async def test_advice_moves_nothing() -> None:
    """In advise mode the choice is put on record with what it would bring, once, and nothing moves."""
    story = await tell(cluster(THREE, crs={"ha-auto-rebalance": 2}))
    (advised,) = story.of("balance.advised")
    assert (advised.payload["leader"], advised.payload["target"]) == ("vm:101", "node2")
    assert advised.payload["after"] < advised.payload["before"]
    assert not story.of("balance.motion", "resource.motion_queued", "resource.migrate", "job.moving")


async def test_a_resource_without_a_load_sample_is_left_out() -> None:
    """A load that was not measured never reads as zero: its resource is not moved."""
    scenario = cluster(THREE)
    del scenario.loads["vm:101"]
    story = await tell(scenario)
    assert story.motions()
    assert "vm:101" not in {leader for leader, _ in story.motions()}
    excluded = story.of("balance.motion")[0].payload["excluded"]
    assert ("vm:101", "sample") in {(item["resource"], item["reason"]) for item in excluded}


async def test_nothing_is_chosen_while_a_motion_is_queued_or_running() -> None:
    """An operator's motion holds the balancer up as its own ones do."""
    steps = [["service vm:103 migrate node3"]]
    scenario = cluster(THREE, steps=steps, crs={"ha-auto-rebalance-hold-duration": 8}, rounds=6)
    story = await tell(scenario, motions(slow={"vm:103": 300}))
    assert story.of("balance.motion")[0].at > 300
    assert story.reasons()[1] == "motion_running"


def _on(story: Story, node: str) -> int:
    return sum(record.node == node for record in story.state.resources.values())
