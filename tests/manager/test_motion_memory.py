"""Motions that leaders make on their own account are remembered like the balancer's: what failed is not asked for again."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from haes.agent.execution import Job
from haes.exit_codes import ERROR
from haes.manager.round import Leader
from haes.simulation.scenario import Scenario
from haes.simulation.world import AgentSurroundings, Host, World
from haes.state.batch import Batch
from haes.state.snapshot import decode_state, encode_state
from tests.builders import _replace_agents_run, asked, cluster, motions, tell

QUIET = {"ha": "basic", "ha-auto-rebalance": 0}


def _emptied(*, nodes: int = 3, backoff: str = "time", rounds: int = 8, **crs: Any) -> Scenario:
    """Returns a cluster whose first node is emptied for maintenance."""
    steps = [["crm node1 enable-node-maintenance"]]
    scenario = cluster({"vm:101": {"node": 1}}, nodes=nodes, crs=QUIET, steps=steps, rounds=rounds)
    scenario.settings["crs"] |= {"ha-motion-backoff": backoff, **crs}
    return scenario


def _to(*targets: str) -> Callable[[str, str, float], bool]:
    return lambda _resource, target, _now: target in targets


@pytest.mark.parametrize("backoff", ["time", "series"])
async def test_a_target_that_failed_is_left_out_while_another_one_is_there(backoff: str) -> None:
    """Emptying a node asks for the failing motion once and then goes elsewhere."""
    story = await tell(_emptied(backoff=backoff), motions(fail=_to("node2")))
    assert [event.payload["target"] for event in story.of("resource.migrate")] == ["node2", "node3"]
    assert story.state.resources["vm:101"].node == "node3"


async def test_without_another_target_it_is_tried_again_after_its_back_off() -> None:
    """The tries come as the back-off says, 60, 120, 240 s apart, and not in every round, whoever leads."""
    scenario = _emptied(nodes=2, rounds=12)
    story = await tell(scenario, motions(fail=_to("node2")))
    times = [event.at for event in story.of("resource.migrate")]
    assert len(times) == 5
    for number, (first, second) in enumerate(pairwise(times)):
        assert 60 * 2**number <= second - first < 60 * 2**number + 70


async def test_a_failover_in_the_middle_changes_no_try() -> None:
    """The next leader goes on with the back-off of the one before, from the record alone."""
    calm = await tell(_emptied(nodes=2, rounds=12), motions(fail=_to("node2")))
    rough = await tell(_emptied(nodes=2, rounds=12), motions(fail=_to("node2")), _new_leader_every_round)
    tries = [event.at for event in calm.of("resource.migrate")]
    assert [event.at for event in rough.of("resource.migrate")] == tries
    assert rough.state.balance.failures == calm.state.balance.failures
    known = decode_state(encode_state(rough.state))
    assert known is not None
    assert known.to_data() == rough.state.to_data()


def _new_leader_every_round(world: World) -> None:
    manager_round = world.manager_round

    async def interfered(host: Host) -> bool:
        if host.manager is not None and host.manager.leader is not None:
            host.manager.leader = Leader()
        return await manager_round(host)

    world.manager_round = interfered  # type: ignore[method-assign]


async def test_the_number_of_tries_in_a_day_is_what_the_back_off_allows() -> None:
    """With one hour at most between two tries a day has 6 that double and then one an hour, not 4000."""
    base, longest, at, tries = 60, 3600, 0.0, 0
    while at < 9000:
        tries += 1
        at += min(base * 2 ** (tries - 1), longest)
    story = await tell(_emptied(nodes=2, rounds=85), motions(fail=_to("node2")))
    first = story.of("resource.migrate")[0].at
    assert len([event for event in story.of("resource.migrate") if event.at < first + 9000]) in {tries - 1, tries}


async def test_a_person_s_command_goes_through_at_once() -> None:
    """What was left out for the leader is tried when an operator says so; a success is remembered, too."""
    story = await tell(
        _emptied(nodes=2, rounds=8),
        motions(fail=lambda _resource, target, now: target == "node2" and now < 400),
        asked(401, "migrate", "vm:101", "node2"),
    )
    assert story.state.resources["vm:101"].node == "node2"
    assert [event.payload["target"] for event in story.of("motion.moved")] == ["node2"]
    assert not story.state.balance.failures


async def test_a_retry_clears_what_leaders_remember() -> None:
    """One memory: the operator's retry of the balancer lets leaders try again, too."""
    story = await tell(_emptied(nodes=2, rounds=4), motions(fail=_to("node2")), asked(320, "rebalance-retry", "", ""))
    attempts = [event.payload["attempts"] for event in story.of("motion.failed")]
    assert attempts[:2] == [1, 2]
    assert 1 in attempts[2:]


async def test_a_node_that_nothing_can_reach_is_left_alone() -> None:
    """After so many failures for a reason of the whole node the others are not tried there, and go elsewhere."""
    resources = {f"vm:{number}": {"node": 1} for number in range(101, 108)}
    scenario = cluster(resources, crs=QUIET, steps=[["crm node1 enable-node-maintenance"]], rounds=5)
    scenario.settings["crs"] |= {"ha-motion-backoff": "time", "ha-motion-node-breaker": 2}
    story = await tell(scenario, _no_space_on("node2"))
    (paused,) = story.of("motion.node_paused")
    assert (paused.subject, paused.payload["reason"]) == ("node2", "no space left")
    assert {record.node for record in story.state.resources.values()} == {"node3"}
    assert not [
        event for event in story.of("resource.migrate") if event.payload["target"] == "node2" and event.n > paused.n
    ]
    assert any("nothing is moved to node 'node2' for a while: " in line for line in story.journal())


def _no_space_on(node: str) -> Callable[[World], None]:
    def run(surroundings: AgentSurroundings, job: Job, batch: Batch) -> int | None:
        if job.state == "migrate" and job.target == node:
            batch.emit("job.move_failed", job.resource, because="no space left", whole_node=True)
            return ERROR
        return surroundings.run(job, batch)

    return lambda world: _replace_agents_run(world, run)


async def test_where_nothing_is_said_nothing_is_remembered() -> None:
    """A folder in the reference's format behaves as the reference does: the same motion in every round."""
    scenario = _emptied(nodes=2, rounds=4)
    del scenario.settings["crs"]["ha-motion-backoff"]
    story = await tell(scenario, motions(fail=_to("node2")))
    assert len(story.of("resource.migrate")) > 9
    assert not story.of("motion.")
