"""Bundles: resources that move together, remembered member by member."""

from tests.builders import Story, cluster, motions, tell, together

# A node so crowded that something has to move, of which only the bundle can.
CROWDED = {"vm:101": {"node": 1, "auto-rebalance": 0}, "vm:102": {"node": 1}, "vm:103": {"node": 1}}
PAIR = together("vm:102", "vm:103")
PAIR_AND_MORE = together("ct:100", "vm:102", "vm:103")


async def test_members_that_arrive_in_different_rounds_are_not_pulled_back() -> None:
    """A bundle whose members are on the way has not been torn apart as long as none has failed."""
    story = await tell(cluster(CROWDED, rules=PAIR, rounds=6), motions(slow={"vm:103": 300}))
    assert story.motions() == [("vm:102", "node2")]
    arrivals = {event.subject: event.at for event in story.of("job.moved")}
    assert arrivals["vm:102"] < 100
    assert arrivals["vm:103"] >= 300
    assert [event.payload["because"] for event in story.of("resource.migrate")] == ["command", "command"]
    assert story.outcomes() == [("balance.moved", "vm:102", "node2"), ("balance.moved", "vm:103", "node2")]
    assert not story.state.balance.failures


async def test_a_member_that_fails_is_remembered_by_itself() -> None:
    """Of a bundle that arrives in part, the member that moved rests and the one that did not is left out there."""
    story = await tell(
        cluster(CROWDED, rules=PAIR, rounds=4, crs={"ha-auto-rebalance-cooldown": 5000}),
        motions(fail=lambda resource, *_: resource == "vm:103"),
    )
    memory = story.state.balance
    assert story.outcomes() == [("balance.moved", "vm:102", "node2"), ("balance.failed", "vm:103", "node2")]
    assert list(memory.failures) == [("vm:103", "node2")]
    assert list(memory.cooldowns) == ["vm:102"]


async def test_a_move_that_rules_force_after_a_bundle_failed_in_part_does_not_count() -> None:
    """Pulling the bundle together again is the rules' doing: it is neither counted nor cooled nor excluded."""
    story = await tell(
        cluster(CROWDED, rules=PAIR, rounds=6, crs={"ha-auto-rebalance-cooldown": 5000}),
        motions(fail=lambda resource, _target, at: resource == "vm:103" and at < 100),
    )
    forced = [event for event in story.of("resource.migrate") if event.payload["because"] == "placement"]
    assert forced
    assert len(story.outcomes()) == 2
    assert list(story.state.balance.cooldowns) == ["vm:102"]
    nodes = {story.state.resources[name].node for name in ("vm:102", "vm:103")}
    assert len(nodes) == 1


async def test_a_member_joins_whose_name_sorts_first() -> None:
    """The label of the bundle changes, its memory neither begins anew nor passes to the new member."""
    resources = {**CROWDED, "ct:100": {"node": 1, "state": "stopped"}}
    scenario = cluster(
        resources, nodes=2, rules=PAIR_AND_MORE, steps=[["service ct:100 started"]], rounds=6, crs=_quick()
    )
    story = await tell(scenario, motions(fail=lambda *_: True))
    first, second = story.of("balance.motion")[:2]
    assert (first.payload["leader"], first.payload["members"]) == ("vm:102", ["vm:102", "vm:103"])
    assert (second.payload["leader"], second.payload["members"]) == ("ct:100", ["ct:100", "vm:102", "vm:103"])
    assert second.payload["series"] == 3
    assert _attempts(story) == {("ct:100", 1), ("vm:102", 1), ("vm:102", 2), ("vm:103", 1), ("vm:103", 2)}


async def test_the_first_member_leaves() -> None:
    """When the member that gave the bundle its label stops, the others keep their memory."""
    scenario = cluster(CROWDED, nodes=2, rules=PAIR, steps=[["service vm:102 stopped"]], rounds=6, crs=_quick())
    story = await tell(scenario, motions(fail=lambda *_: True))
    first, second = story.of("balance.motion")[:2]
    assert (first.payload["leader"], second.payload["leader"]) == ("vm:102", "vm:103")
    assert second.payload["series"] == 3
    assert _attempts(story) == {("vm:102", 1), ("vm:103", 1), ("vm:103", 2)}


async def test_a_member_removed_in_the_middle_of_a_motion() -> None:
    """The bundle's motion ends with the members that are left; the removed one is blamed for nothing."""
    scenario = cluster(CROWDED, rules=PAIR, steps=[["service vm:102 delete"]], rounds=6)
    story = await tell(scenario, motions(slow={"vm:102": 300, "vm:103": 300}))
    assert set(story.outcomes()[:2]) == {("balance.dropped", "vm:102", "removed"), ("balance.moved", "vm:103", "node2")}
    assert not story.state.balance.failures
    assert story.state.balance.motion is None
    assert story.of("balance.series")[0].payload["reason"] == "moved"


async def test_a_member_that_may_not_be_moved_keeps_its_bundle() -> None:
    """`auto-rebalance 0` on one member is enough for all to stay, and the reason names that member."""
    resources = {**CROWDED, "vm:103": {"node": 1, "auto-rebalance": 0}}
    story = await tell(cluster(resources, rules=PAIR))
    assert not story.motions()
    refused = story.of("balance.refused")[-1].payload
    assert refused["reason"] == "everything_excluded"
    assert ("vm:102", "vm:103", "flag") in [
        (item["leader"], item["resource"], item["reason"]) for item in refused["details"]["excluded"]
    ]


async def test_the_cooldown_of_one_member_blocks_its_bundle() -> None:
    """A resource that was moved alone rests, and with it every bundle that it belongs to later."""
    resources = {
        "vm:101": {"node": 1, "auto-rebalance": 0},
        "vm:102": {"node": 1},
        "vm:103": {"node": 1, "state": "stopped"},
    }
    scenario = cluster(
        resources,
        nodes=2,
        rules=together("vm:102", "vm:103"),
        steps=[[], ["service vm:102 set-dynamic-stats cpu 20 mem 20000", "service vm:103 started"]],
        rounds=7,
    )
    story = await tell(scenario)
    assert story.motions() == [("vm:102", "node2")]
    excluded = [item for event in story.of("balance.refused") for item in event.payload["details"].get("excluded", [])]
    assert {item["reason"] for item in excluded if item["resource"] == "vm:102"} == {"cooldown"}


def _quick() -> dict[str, int]:
    """A choice in every second round."""
    return {"ha-auto-rebalance-hold-duration": 4}


def _attempts(story: Story) -> set[tuple[str, int]]:
    """Returns (member, attempts) of the failures of the first two motions."""
    return {
        (event.payload["resource"], event.payload["attempts"])
        for event in story.of("balance.failed")
        if event.cause in {"motion/1", "motion/2"}
    }
