"""Look before you leap: what the driver says against a motion, before anything is stopped for it."""

from typing import Any

import pytest

from events.envelope import Event
from haes.balancer.choice import PREFLIGHT_COUNTS
from haes.state import ClusterState
from haes.state.fold import fold
from tests.builders import cluster, tell

TIED = [
    {"local_cdrom": 1},
    {"local_disks": 1},
    {"passthrough": 1},
    {"confidential": 1},
    {"storages": ["fast"]},
    {"networks": ["migration"]},
]
POOR = {"storages": ["slow"], "networks": ["public"]}
RICH = {"storages": ["slow", "fast"], "networks": ["public", "migration"]}


def _crowded(name: str, needs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"vm:900": {"node": 1, "auto-rebalance": 0}, name: {"node": 1, **needs}}


@pytest.mark.parametrize("needs", TIED, ids=lambda needs: next(iter(needs)))
async def test_a_container_is_never_stopped_for_a_motion_that_cannot_work(needs: dict[str, Any]) -> None:
    """What ties a container to its node is found out by asking, not by stopping it."""
    scenario = cluster(_crowded("ct:102", needs), node1=RICH, node2=POOR, node3=POOR)
    story = await tell(scenario)
    answers = story.of("balance.preflight")
    assert [(event.payload["resource"], event.payload["target"]) for event in answers] == [
        ("ct:102", "node2"),
        ("ct:102", "node3"),
    ]
    assert all(event.payload["reasons"] for event in answers)
    assert not story.of("balance.motion", "job.stopping", "job.moving", "resource.relocate")
    assert story.reasons()[-1] == "everything_excluded"
    assert not story.state.balance.failures


async def test_a_target_that_can_work_is_taken_in_the_same_choice() -> None:
    """A "no" excludes only that pair: the next best target is asked about and used at once."""
    scenario = cluster(_crowded("ct:102", {"storages": ["fast"]}), node1=RICH, node2=POOR, node3=RICH)
    story = await tell(scenario)
    (answer,) = story.of("balance.preflight")
    (motion,) = story.of("balance.motion")
    assert answer.payload["reasons"] == ["storage 'fast' is missing on node2"]
    assert (motion.payload["leader"], motion.payload["target"], motion.at) == ("ct:102", "node3", answer.at)
    assert ("node2", "preflight") in {(item["target"], item["reason"]) for item in motion.payload["excluded"]}
    assert story.outcomes() == [("balance.moved", "ct:102", "node3")]


async def test_one_member_that_cannot_move_keeps_its_bundle() -> None:
    """The driver is asked about every member of a bundle."""
    resources = {**_crowded("vm:102", {}), "vm:103": {"node": 1, "passthrough": 1}}
    rules = "resource-affinity: together\n\tresources vm:102,vm:103\n\taffinity positive\n"
    story = await tell(cluster(resources, rules=rules))
    assert {event.payload["resource"] for event in story.of("balance.preflight")} == {"vm:103"}
    assert not story.motions()


async def test_a_no_counts_for_an_hour_at_most() -> None:
    """Storage and networks come back without a change of configuration, so the driver is asked again in time."""
    scenario = cluster(_crowded("vm:102", {"local_disks": 1}), rounds=42)
    story = await tell(scenario)
    asked = [event.at for event in story.of("balance.preflight") if event.payload["target"] == "node2"]
    assert len(asked) == 2
    assert asked[1] - asked[0] >= PREFLIGHT_COUNTS
    assert asked[1] - asked[0] < PREFLIGHT_COUNTS + 100


def _answered() -> ClusterState:
    payload = {"resource": "vm:102", "target": "node2", "reasons": ["its disks are local"], "until": 3600}
    other = {**payload, "resource": "vm:103"}
    configured = {"changes": {"node": "node1", "needs": {"local_disks": 1}}}
    return fold(
        [
            Event("resource.configured", "vm:102", "cmdlist", 0, configured),
            Event("balance.preflight", "balance", "node1/crm", 0, payload),
            Event("balance.preflight", "balance", "node1/crm", 0, other),
        ]
    )


def test_a_no_counts_until_the_configuration_of_the_resource_changes() -> None:
    """What a motion of the resource needs has changed, so the driver is asked anew about it, and only about it."""
    state = fold([Event("resource.configured", "vm:102", "cmdlist", 9, {"changes": {"needs": {}}})], _answered())
    assert list(state.balance.impossible) == [("vm:103", "node2")]


def test_a_no_does_not_end_with_a_change_that_says_nothing_about_motions() -> None:
    """Asking a resource to stop does not make its disks shared."""
    state = fold([Event("resource.configured", "vm:102", "cmdlist", 9, {"changes": {"failback": False}})], _answered())
    assert sorted(state.balance.impossible) == [("vm:102", "node2"), ("vm:103", "node2")]


def test_a_no_ends_with_the_node_that_it_is_about() -> None:
    """A node that is forgotten takes what was said about it along."""
    state = _answered()
    state.members.add("node2")
    fold([Event("node.removed", "node2", "node1/crm", 9, {})], state)
    assert not state.balance.impossible
