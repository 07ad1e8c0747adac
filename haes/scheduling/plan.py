"""A plan from a snapshot of a cluster: the best motions now, or all that bring it to balance; reads no file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from haes.scheduling.arrays import CandidateArrays, NodeArrays, candidate_arrays, node_arrays
from haes.scheduling.exact import imbalance
from haes.scheduling.usage import METHODS, NodeStats, ResourceStats, Scored

# Motions of one plan at most: each is the best one then, so a plan that needs more will not come to an end.
MOST_MOTIONS = 10_000


@dataclass(slots=True)
class Placement:
    """A resource in a snapshot: where it is, what it uses, and where it may go (None: everywhere)."""

    node: str
    stats: ResourceStats
    targets: frozenset[str] | None = None
    movable: bool = True


def arrays_of(nodes: Mapping[str, NodeStats], resources: Mapping[str, Placement]) -> tuple[NodeArrays, CandidateArrays]:
    """Returns a snapshot as arrays."""
    known = node_arrays(nodes)
    number_of = {name: number for number, name in enumerate(known.names)}
    names = sorted(name for name, placement in resources.items() if placement.movable)
    placements = [resources[name] for name in names]
    targets = {
        number: sorted(number_of[target] for target in placement.targets if target in number_of)
        for number, placement in enumerate(placements)
        if placement.targets is not None
    }
    source = [number_of[placement.node] for placement in placements]
    loads = [(placement.stats.cpu, placement.stats.mem) for placement in placements]
    return known, candidate_arrays(names, source, loads, targets, len(known))


def best(nodes: NodeArrays, candidates: CandidateArrays, method: str, limit: int) -> list[Scored]:
    """Returns up to `limit` best motions by a method, best first."""
    pairs, imbalances = METHODS[method](nodes, candidates, limit)
    return [
        Scored(candidates.names[bundle], nodes.names[candidates.source[bundle]], nodes.names[target], float(after))
        for bundle, target, after in zip(pairs.bundle, pairs.target, imbalances, strict=True)
    ]


def until_balanced(
    nodes: NodeArrays, candidates: CandidateArrays, method: str, threshold: float, margin: float
) -> list[Scored]:
    """Returns the motions that bring a cluster under the threshold, each the best after the one before.

    It ends early when the best motion brings less than the margin, or nothing.

    Args:
        nodes: the nodes; changed by the motions.
        candidates: what could move; changed by the motions.
        method: bruteforce or topsis.
        threshold: imbalance not to exceed, 0..1.
        margin: least relative improvement of a motion, 0..1.
    """
    motions: list[Scored] = []
    number_of = {name: number for number, name in enumerate(nodes.names)}
    row_of = {int(number): row for row, number in enumerate(candidates.restricted)}
    place_of = {name: number for number, name in enumerate(candidates.names)}
    now = imbalance(nodes)
    while now > threshold and len(motions) < MOST_MOTIONS:
        found = best(nodes, candidates, method, 1)
        if not found or now - found[0].imbalance <= max(1e-9, margin * now):
            break
        motion = found[0]
        number, target = place_of[motion.resource], number_of[motion.target]
        source = int(candidates.source[number])
        for used, moved in ((nodes.cpu, candidates.cpu), (nodes.mem, candidates.mem)):
            used[source] = max(0.0, used[source] - moved[number])
            used[target] += moved[number]
        if number in row_of:
            # It may come back to where it was allowed to be; its new node is no target.
            candidates.allowed[row_of[number], [source, target]] = True, False
        candidates.source[number] = target
        motions.append(motion)
        now = imbalance(nodes)
    return motions


def is_usable(stats: Sequence[float]) -> bool:
    """Returns whether numbers can be reckoned with: finite and not negative."""
    return all(np.isfinite(value) and value >= 0 for value in stats)
