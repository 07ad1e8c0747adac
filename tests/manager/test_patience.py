"""Loads that are missing: said in every round where nobody asked for patience, else once, and only when it lasts."""

from collections.abc import Mapping

import pytest

from haes.manager.inputs import Claim, Loads, RoundInputs
from haes.manager.round import Leader
from haes.scheduling.usage import NodeStats
from haes.state.batch import Batch
from haes.state.cluster import ClusterState

SAYS = ("scheduler.fallback", "usage.problem")
NODES = {"node1": NodeStats(cpu=0, maxcpu=4, mem=0, maxmem=100)}


def _state() -> ClusterState:
    state = ClusterState()
    batch = Batch(state, "test", 0)
    batch.emit("cluster.created", "cluster", name="main")
    batch.emit("settings.changed", "settings", settings={"crs": {"ha": "dynamic"}})
    batch.emit("node.added", "node1")
    batch.emit("resource.configured", "vm:1", changes={"node": "node1", "state": "started"})
    Leader().take_over(batch, "node1")
    return state


def _said(patience: float | None, measured: Mapping[float, Loads]) -> list[tuple[float, str]]:
    """Returns when what was said, in rounds at the times of what was measured."""
    state, leader, said = _state(), Leader(), []
    for at, loads in measured.items():
        batch = Batch(state, "node1/crm", at)
        inputs = RoundInputs(
            at=at,
            node="node1",
            online={"node1": True},
            quorate=True,
            claim_agent=lambda _node: Claim.REFUSED,
            loads=lambda loads=loads: loads,
            loads_patience=patience,
            outside=True,
        )
        leader.manage(batch, inputs)
        said += [(at, event.type) for event in batch.events if event.type in SAYS]
    return said


@pytest.mark.parametrize(("loads", "type_"), [(Loads(), SAYS[0]), (Loads(node_loads=NODES), SAYS[1])])
def test_missing_loads_are_said_once_and_late(loads: Loads, type_: str) -> None:
    """Within its patience a leader says nothing, after it one word, until it is measured."""
    times = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    assert _said(25, dict.fromkeys(times, loads)) == [(30, type_)]
    assert {at for at, _ in _said(None, dict.fromkeys(times, loads))} == set(times)
    assert _said(25, dict.fromkeys(times[:3], loads)) == []
