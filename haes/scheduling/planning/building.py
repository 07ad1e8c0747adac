"""A problem from what could move, as snapshots and rounds know it; knows no way of solving it."""

from collections.abc import Mapping, Sequence

import numpy as np

from haes.scheduling.arrays import Flags, node_arrays
from haes.scheduling.plan import Movable
from haes.scheduling.planning.problem import Problem
from haes.scheduling.stats import NodeStats


def problem_of(
    nodes: Mapping[str, NodeStats],
    movables: Sequence[Movable],
    places: Mapping[str, str],
    *,
    threshold: float,
    ceiling: float | None,
) -> Problem:
    """Returns the problem that a cluster poses.

    A unit that is where it must not be, but may go nowhere else, counts as being where it may be: no plan can help it.

    Args:
        nodes: capacity and use of each node.
        movables: what could move, by name, all on one of the nodes.
        places: resource -> node for every resource that somebody keeps away from, whether it can move or not.
        threshold: the imbalance not to exceed, 0..1.
        ceiling: the share of cpu and of memory that no node is to exceed, 0..1, if there is one.
    """
    arrays = node_arrays(nodes)
    number_of = arrays.number_of
    unit_of = {member: number for number, item in enumerate(movables) for member in item.members}
    restricted: dict[int, Flags] = {}
    apart: dict[int, frozenset[int]] = {}
    for number, item in enumerate(movables):
        if item.targets is None and not item.apart and not item.must_leave:
            continue
        flags = np.full(len(arrays), item.targets is None)
        flags[[number_of[name] for name in item.targets or () if name in number_of]] = True
        source = number_of[item.node]
        flags[source] = not item.must_leave
        others = {unit_of[name] for name in item.apart if name in unit_of}
        for name in item.apart:
            node = number_of.get(places.get(name, ""))
            if name not in unit_of and node is not None:
                flags[node] = False
        if not flags.any():
            flags[source] = True
        restricted[number] = flags
        if others:
            apart[number] = frozenset(others)
    return Problem(
        arrays,
        [item.members[0] for item in movables],
        np.array([number_of[item.node] for item in movables], dtype=np.int64),
        np.array([item.cpu for item in movables], dtype=np.float64),
        np.array([item.mem for item in movables], dtype=np.float64),
        restricted,
        apart,
        threshold,
        np.inf if ceiling is None else ceiling,
    )
