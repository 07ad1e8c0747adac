"""The usage of a round: after any adding and removing it says what adding everything up anew would say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haes.scheduling.usage import (
    BasicUsage,
    Bundle,
    DynamicUsage,
    NodeStats,
    ResourceStats,
    StaticUsage,
    UsageProblem,
)
from tests.scheduling import naive

NODES = {
    "node1": NodeStats(8, 1000, 1.1, 300),
    "node2": NodeStats(4, 2000, 0.3, 70),
    "node3": NodeStats(8, 1000, 0.0, 0),
}
RESOURCES = {
    # Sums of these depend on their order in the last bit.
    "vm:1": ResourceStats(0.1, 10, 0.7, 100),
    "vm:2": ResourceStats(0.2, 20, 0.1, 200),
    "vm:10": ResourceStats(0.3, 30, 0.3, 300),
    "ct:7": ResourceStats(0.0, 0, 0.0, 50),
}
MODES = [StaticUsage, DynamicUsage]
Places = dict[str, tuple[str, str | None, bool]]
node_or_none = st.none() | st.sampled_from(sorted(NODES))
steps = st.lists(st.tuples(st.sampled_from(sorted(RESOURCES)), node_or_none, node_or_none, st.booleans()), max_size=20)


def _expected_stats(mode: type, places: Places, *, starting: bool) -> dict[str, tuple[float, float]]:
    """Returns (cpu, mem) of each node, added up anew in order of resource."""
    base = {name: [0.0, 0.0] if mode is StaticUsage else [stats.cpu, stats.mem] for name, stats in NODES.items()}
    for resource, (current, target, running) in sorted(places.items()):
        if mode is DynamicUsage and (running or not starting):
            continue
        for node in {current, target} - {None}:
            assert node is not None
            base[node][0] += RESOURCES[resource].maxcpu or NODES[node].maxcpu
            base[node][1] += RESOURCES[resource].maxmem
    return {name: (cpu, mem) for name, (cpu, mem) in base.items()}


@pytest.mark.parametrize("mode", MODES)
@given(steps=steps)
def test_any_way_there_leads_to_the_same_usage(mode: type[StaticUsage | DynamicUsage], steps: list) -> None:
    """Loads and imbalance equal, to the last bit, those added up anew, whatever was added, replaced and removed."""
    usage, places = mode(NODES, RESOURCES), Places()
    for resource, current, target, running in steps:
        if current is None and target is None:
            usage.remove(resource)
            places.pop(resource, None)
        else:
            assert usage.add(resource, current, target, running) is None
            place = (current, target) if current is not None else (target, None)
            places[resource] = (*place, running)  # type: ignore[assignment]
        # Asking in between must not make later answers stale.
        usage.imbalance()
        usage.start_scores("vm:1")
    expected = _expected_stats(mode, places, starting=False)
    assert {name: (stats.cpu, stats.mem) for name, stats in usage.node_stats().items()} == expected
    loads = [(cpu / NODES[name].maxcpu + mem / NODES[name].maxmem) / 2 for name, (cpu, mem) in expected.items()]
    assert usage.imbalance() == naive.imbalance(loads)
    counted = _expected_stats(mode, places, starting=True)
    stats = [(counted[name], NODES[name]) for name in sorted(NODES)]
    for resource, use in RESOURCES.items():
        scores = naive.start_scores(stats, use.maxcpu, use.maxmem)
        assert list(usage.start_scores(resource).values()) == [-score for score in scores]


@pytest.mark.parametrize(("mode", "cpu", "mem"), [(StaticUsage, 0.1 + 0.3, 500), (DynamicUsage, 0.2 + 0.3, 50)])
def test_a_bundle_moves_with_all_its_members(mode: type[StaticUsage | DynamicUsage], cpu: float, mem: float) -> None:
    """A bundle takes what its members use together, and its motion goes by the leader's name."""
    usage = mode(NODES, RESOURCES)
    for resource in RESOURCES:
        usage.add(resource, "node1", None, True)
    members = ("vm:2", "vm:10")
    assert usage.bundle_load(members) == (cpu, mem)
    everywhere = usage.best_motions([Bundle("vm:2", members, ("node2", "node3"))], "bruteforce", 5)
    assert {(item.resource, item.source, item.target) for item in everywhere} == {
        ("vm:2", "node1", "node2"),
        ("vm:2", "node1", "node3"),
    }
    restricted = usage.best_motions([Bundle("vm:2", members, ("node2",))], "topsis", 5)
    assert [item.target for item in restricted] == ["node2"]
    by_target = {item.target: item.imbalance for item in everywhere}
    assert restricted[0].imbalance == by_target["node2"]


def test_basic_mode_counts_resources() -> None:
    """A resource counts on the node where it is and on the one it goes to; it knows no loads and so no motions."""
    usage = BasicUsage(["node2", "node1", "node3"])
    usage.add("vm:1", "node1", "node2", True)
    usage.add("vm:2", None, "node2", False)
    usage.add("vm:3", None, None, False)
    usage.add("vm:4", "node1", None, True)
    usage.remove("vm:4")
    usage.remove("vm:9")
    assert usage.nodes() == ("node1", "node2", "node3")
    assert usage.start_scores("vm:5") == {"node1": 1.0, "node2": 2.0, "node3": 0.0}
    assert usage.imbalance() == 0.0
    assert usage.node_stats() == {}
    assert usage.best_motions([Bundle("vm:1", ("vm:1",), ("node3",))], "bruteforce", 1) == []
    with pytest.raises(UsageProblem, match="vm:1"):
        usage.bundle_load(["vm:1"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 2.0**63])
@pytest.mark.parametrize("key", ["maxcpu", "maxmem"])
def test_odd_resources_choose_no_motion(mode: type[StaticUsage | DynamicUsage], key: str, value: float) -> None:
    """A number that cannot be reckoned with is named when the resource is added, loads nothing and moves nothing."""
    values = {"cpu": 1.0, "mem": 100, "maxcpu": 1.0, "maxmem": 100, key: value}
    usage = mode(NODES, {**RESOURCES, "vm:3": ResourceStats(**values)})
    before = usage.node_stats()
    problem = usage.add("vm:3", "node1", None, False)
    assert problem is not None
    assert "'vm:3'" in problem
    assert key in problem
    assert usage.node_stats() == before
    usage.add("vm:1", "node1", None, True)
    bundles = [Bundle(name, (name,), ("node2", "node3")) for name in ("vm:1", "vm:3")]
    for method in ("bruteforce", "topsis"):
        assert {item.resource for item in usage.best_motions(bundles, method, 9)} == {"vm:1"}
    with pytest.raises(UsageProblem, match="vm:3"):
        usage.start_scores("vm:3")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("key", "value"), [("maxcpu", 0), ("maxmem", 0.5), ("cpu", float("nan")), ("mem", -1), ("maxmem", float("inf"))]
)
def test_odd_nodes_are_refused(mode: type[StaticUsage | DynamicUsage], key: str, value: float) -> None:
    """A node without capacity, or with a number that cannot be reckoned with, is refused by name."""
    values = {"maxcpu": 4, "maxmem": 100, "cpu": 0, "mem": 0, key: value}
    with pytest.raises(UsageProblem, match=f"'node4' has {key}"):
        mode({**NODES, "node4": NodeStats(**values)}, RESOURCES)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_not_known_is_named(mode: type[StaticUsage | DynamicUsage]) -> None:
    """Without samples a resource is not added; asking for its load, start or motion says which it is."""
    usage = mode(NODES, RESOURCES)
    assert usage.add("vm:9", "node1", None, True) == (f"did not get {mode.mode} service usage information for 'vm:9'")
    assert usage.add("vm:9", None, None, True) is None
    for ask in (
        lambda: usage.bundle_load(["vm:9"]),
        lambda: usage.start_scores("vm:9"),
        lambda: usage.best_motions([Bundle("vm:9", ("vm:9",), ("node2",))], "topsis", 1),
    ):
        with pytest.raises(UsageProblem, match="vm:9"):
            ask()
    with pytest.raises(UsageProblem, match="leader 'vm:1' is not present in the cluster usage"):
        usage.best_motions([Bundle("vm:1", ("vm:1",), ("node2",))], "bruteforce", 1)
