"""Motions that leaders make on their own account are remembered like the balancer's: what failed is not asked for again."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from haes.simulation.scenario import Scenario
from tests.builders import cluster, motions, tell

QUIET = {"ha": "basic", "ha-auto-rebalance": 0}


def _emptied(*, nodes: int = 3, backoff: str = "time", rounds: int = 8, **crs: Any) -> Scenario:
    """Returns a cluster whose first node is emptied for maintenance."""
    steps = [["crm node1 enable-node-maintenance"]]
    scenario = cluster({"vm:101": {"node": 1}}, nodes=nodes, crs=QUIET, steps=steps, rounds=rounds)
    scenario.settings["crs"] |= {"ha-motion-backoff": backoff, **crs}
    return scenario


def _to(*targets: str) -> Callable[[str, str, float], bool]:
    return lambda _resource, target, _now: target in targets


@pytest.mark.xfail(strict=True, reason="only the balancer remembers how motions ended")
@pytest.mark.parametrize("backoff", ["time", "series"])
async def test_a_target_that_failed_is_left_out_while_another_one_is_there(backoff: str) -> None:
    """Emptying a node asks for the failing motion once and then goes elsewhere."""
    story = await tell(_emptied(backoff=backoff), motions(fail=_to("node2")))
    assert [event.payload["target"] for event in story.of("resource.migrate")] == ["node2", "node3"]
    assert story.state.resources["vm:101"].node == "node3"


@pytest.mark.xfail(strict=True, reason="only the balancer remembers how motions ended")
async def test_without_another_target_it_is_tried_again_after_its_back_off() -> None:
    """The tries come as the back-off says, 60, 120, 240 s apart, and not in every round, whoever leads."""
    scenario = _emptied(nodes=2, rounds=12)
    story = await tell(scenario, motions(fail=_to("node2")))
    times = [event.at for event in story.of("resource.migrate")]
    assert len(times) == 5
    for number, (first, second) in enumerate(pairwise(times)):
        assert 60 * 2**number <= second - first < 60 * 2**number + 70
