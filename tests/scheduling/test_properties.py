"""Fast scoring equals the definition, on any cluster: ties, zero loads, equal nodes, one node, restrictions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haes.scheduling import bruteforce, topsis
from haes.scheduling.arrays import CandidateArrays, NodeArrays, candidate_arrays
from haes.scheduling.exact import imbalance
from tests.scheduling import naive

Cluster = tuple[NodeArrays, CandidateArrays]
# Few distinct values, so that ties are the rule and not the exception.
LOADS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5])
CAPACITIES = st.sampled_from([(4.0, 8.0), (4.0, 16.0), (8.0, 8.0)])


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Draws a cluster: nodes of few classes, bundles with few loads, some of them restricted."""
    count = draw(st.integers(1, 6))
    capacities = [draw(CAPACITIES) for _ in range(count)]
    bundles = draw(st.lists(st.tuples(st.integers(0, count - 1), LOADS, LOADS), max_size=9))
    extra = draw(st.lists(LOADS, min_size=count, max_size=count))
    cpu, mem = list(extra), list(extra)
    for source, bundle_cpu, bundle_mem in bundles:
        cpu[source] += bundle_cpu
        mem[source] += bundle_mem
    nodes = NodeArrays(
        tuple(f"node{number}" for number in range(count)),
        np.array([capacity[0] for capacity in capacities]),
        np.array([capacity[1] for capacity in capacities]),
        np.array(cpu),
        np.array(mem),
    )
    targets = {
        number: draw(st.lists(st.integers(0, count - 1), unique=True))
        for number in range(len(bundles))
        if draw(st.booleans()) and draw(st.booleans())
    }
    names = [f"vm:{100 + number}" for number in range(len(bundles))]
    loads = [(bundle_cpu, bundle_mem) for _, bundle_cpu, bundle_mem in bundles]
    return nodes, candidate_arrays(names, [bundle[0] for bundle in bundles], loads, targets, count)


def _found(result: Any) -> list[tuple[tuple[int, int], float]]:
    pairs, imbalances = result
    return [
        ((int(bundle), int(target)), float(value))
        for bundle, target, value in zip(pairs.bundle, pairs.target, imbalances, strict=True)
    ]


@given(clusters(), st.integers(1, 60))
@settings(max_examples=300, deadline=None)
def test_bruteforce_equals_the_definition(cluster: Cluster, limit: int) -> None:
    """The same pairs in the same order with the same imbalance, whatever ties there are."""
    nodes, candidates = cluster
    found = _found(bruteforce.best_motions(nodes, candidates, limit))
    assert found == naive.bruteforce(nodes, candidates, limit)


@given(clusters(), st.integers(1, 20), st.sampled_from([topsis.SMALL, 0]))
@settings(max_examples=300, deadline=None)
def test_topsis_equals_the_definition(cluster: Cluster, limit: int, small: int) -> None:
    """The scores of the chosen pairs are the highest there are, best first, whichever way they were found."""
    nodes, candidates = cluster
    scores = naive.topsis_scores(nodes, candidates)
    before, topsis.SMALL = topsis.SMALL, small
    try:
        found = _found(topsis.best_motions(nodes, candidates, limit))
    finally:
        topsis.SMALL = before
    expected = sorted(scores.values(), reverse=True)[:limit]
    # Distances are roots of tiny differences, so scores next to an ideal are known to half the digits only.
    assert [scores[pair] for pair, _ in found] == pytest.approx(expected, abs=1e-7)
    assert len({pair for pair, _ in found}) == len(found)
    for pair, value in found:
        assert value == pytest.approx(naive.imbalance_after(nodes, candidates, pair), abs=1e-12)


@given(clusters())
@settings(max_examples=100, deadline=None)
def test_imbalance_equals_the_definition(cluster: Cluster) -> None:
    """The imbalance is that of the definition, to the last bit, and lies between 0 and 1."""
    nodes, _ = cluster
    value = imbalance(nodes)
    assert value == naive.imbalance(nodes.loads().tolist())
    assert 0.0 <= value <= 1.0 + 1e-12


@pytest.mark.parametrize("method", [bruteforce, topsis])
def test_many_equal_resources_are_taken_in_order_of_name(method: Any) -> None:
    """Among thousands of equal motions the first by name come first."""
    count = 3000
    nodes = NodeArrays(
        ("node1", "node2", "node3"),
        np.full(3, 4000.0),
        np.full(3, 4000.0),
        np.array([float(count), 0.0, 0.0]),
        np.array([float(count), 0.0, 0.0]),
    )
    names = [f"vm:{number:05d}" for number in range(count)]
    candidates = candidate_arrays(names, [0] * count, [(1.0, 1.0)] * count, {}, 3)
    found = _found(method.best_motions(nodes, candidates, 4))
    assert [pair for pair, _ in found] == [(0, 1), (0, 2), (1, 1), (1, 2)]
