"""The best motions by TOPSIS, which judges every pair against the best and the worst of all pairs.

Small problems are computed pair by pair. In large ones the length of each criterion's column over all pairs is a sum in
closed form: for one bundle and one class of nodes the sum over the targets of `1 + sqrt(a + b u)` is a power series in
the targets' loads u, and the sum of the highest loads follows from sorted prefix sums. The scores fall with each
criterion, so the emptiest imaginable target of a class bounds what a bundle can reach there, and only pairs that may
reach the top are looked at. Those near the top are settled with criteria that are exact to the last bit. The lengths in
closed form are not (about 1e-15, relative), which only shows where all alternatives are equal to ten digits or more:
there any order is one of rounding.
"""

from dataclasses import dataclass

import numpy as np

from haes.scheduling.arrays import CandidateArrays, Flags, Floats, Ints, NodeArrays, Pairs, all_pairs
from haes.scheduling.exact import LARGEST_MATRIX, criteria_after, imbalance_after
from haes.scheduling.ranking import score, score_between

# Up to this many (pair, node) combinations everything is computed as defined, to the last bit.
SMALL = 4_000_000
# Terms of the power series, and the ratio up to which so many give full precision (0.25 ** 26 < 1e-15).
TERMS = 26
SERIES_RATIO = 0.25
# Quickly computed scores that differ by less may be in either order.
SCORE_TOLERANCE = 1e-12
# Pairs settled exactly beyond those wanted; of more that are equal up to the tolerance the first ones count.
MOST_SETTLED = 1_000
# Bundles and classes looked at in one go when the top is collected.
STEP = 256


def best_motions(nodes: NodeArrays, candidates: CandidateArrays, limit: int) -> tuple[Pairs, Floats]:
    """Returns up to `limit` best motions and the imbalance after each, best first."""
    count = candidates.pair_count(len(nodes)) if len(candidates) and len(nodes) else 0
    if not count or limit < 1:
        return Pairs(np.empty(0, np.int64), np.empty(0, np.int64)), np.empty(0)
    if count * len(nodes) <= SMALL:
        pairs = all_pairs(nodes, candidates)
        order = np.argsort(-score(criteria_after(nodes, candidates, pairs)), kind="stable")[:limit]
        best = pairs.take(order)
    else:
        best = _best_of_many(nodes, candidates, limit)
    return best, imbalance_after(nodes, candidates, best)


@dataclass(slots=True)
class _Resource:
    """One of cpu and memory: node loads, and what follows from a bundle leaving its source.

    Attributes:
        loads: of each node.
        capacity: of each node.
        used: by each bundle.
        squares: sum of squared loads once the bundle has left, for each bundle.
        highest: highest load of the nodes other than the source, and of the source after, for each bundle.
    """

    loads: Floats
    capacity: Floats
    used: Floats
    squares: Floats
    highest: Floats

    def criteria(self, bundle: Ints, added: Floats, target_load: Floats) -> tuple[Floats, Floats]:
        """Returns average and highest after motions; the arguments have one shape."""
        squares = self.squares[bundle] + added * (added + 2.0 * target_load)
        average = 1.0 + np.sqrt(np.maximum(0.0, squares) / len(self.loads))
        return average, 1.0 + np.maximum(self.highest[bundle], target_load + added)


def _resource(
    nodes: NodeArrays, candidates: CandidateArrays, used_by_node: Floats, capacity: Floats, used: Floats
) -> _Resource:
    loads = used_by_node / capacity
    source = candidates.source
    before = loads[source]
    after = np.maximum(0.0, used_by_node[source] - used) / capacity[source]
    ranked = np.argsort(-loads, kind="stable")
    others = np.where(source == ranked[0], loads[ranked[1]] if len(nodes) > 1 else 0.0, loads[ranked[0]])
    squares = (loads * loads).sum() - before * before + after * after
    return _Resource(loads, capacity, used, squares, np.maximum(after, others))


def _best_of_many(nodes: NodeArrays, candidates: CandidateArrays, limit: int) -> Pairs:
    cpu = _resource(nodes, candidates, nodes.cpu, nodes.maxcpu, candidates.cpu)
    mem = _resource(nodes, candidates, nodes.mem, nodes.maxmem, candidates.mem)
    frame = _Frame(nodes, candidates, cpu, mem)
    frame.measure()
    return frame.top(limit)


class _Frame:
    """All pairs of a large problem, without listing them."""

    def __init__(self, nodes: NodeArrays, candidates: CandidateArrays, cpu: _Resource, mem: _Resource) -> None:
        self.nodes, self.candidates = nodes, candidates
        self.resources = (cpu, mem)
        self.free = candidates.free()
        self._squared = np.zeros(4)
        self._lowest = np.full(4, np.inf)
        self._highest = np.full(4, -np.inf)
        self.norms = np.ones(4)
        self.row_of = np.full(len(candidates), -1, dtype=np.int64)
        self.row_of[candidates.restricted] = np.arange(len(candidates.restricted))

    def measure(self) -> None:
        """Finds the length, the smallest and the largest value of each criterion over all pairs."""
        for members in self.nodes.classes:
            for place, resource in enumerate(self.resources):
                self._measure_free(2 * place, resource, members)
            self._measure_restricted(members)
        self.norms = np.sqrt(self._squared)

    def _note(self, place: int, squared: float, lowest: float, highest: float) -> None:
        self._squared[place] += squared
        self._lowest[place] = min(self._lowest[place], lowest)
        self._highest[place] = max(self._highest[place], highest)

    def _measure_free(self, place: int, resource: _Resource, members: Ints) -> None:
        """Adds the unrestricted bundles' motions to the nodes of one class."""
        loads = np.sort(resource.loads[members])
        rows = self.free
        inside = np.isin(self.candidates.source[rows], members)
        if len(members) == 1:
            rows, inside = rows[~inside], inside[~inside]
        if not len(rows):
            return
        own = resource.loads[self.candidates.source[rows]]
        added = resource.used[rows] / resource.capacity[members[0]]
        targets = len(members) - inside
        lowest = np.where(inside & (own == loads[0]), loads[min(1, len(loads) - 1)], loads[0])
        highest = np.where(inside & (own == loads[-1]), loads[max(-2, -len(loads))], loads[-1])
        ends = [resource.criteria(rows, added, end) for end in (lowest, highest)]
        roots, squares = _root_sums(resource, rows, added, own, inside, loads)
        count = len(resource.loads)
        squared = (targets + 2.0 * roots / np.sqrt(count) + squares / count).sum()
        self._note(place, float(squared), float(ends[0][0].min()), float(ends[1][0].max()))
        self._note(
            place + 1,
            float(_highest_sums(resource, rows, added, own, inside, loads).sum()),
            float(ends[0][1].min()),
            float(ends[1][1].max()),
        )

    def _measure_restricted(self, members: Ints) -> None:
        rows = self.candidates.restricted
        step = max(1, LARGEST_MATRIX // max(1, len(members)))
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            row, column = np.nonzero(self.candidates.allowed[begin : begin + step][:, members])
            if not len(row):
                continue
            criteria = self.criteria(Pairs(part[row], members[column]))
            squared = (criteria * criteria).sum(axis=0)
            for place in range(4):
                values = criteria[:, place]
                self._note(place, float(squared[place]), float(values.min()), float(values.max()))

    def criteria(self, pairs: Pairs) -> Floats:
        """Returns the four criteria of some pairs."""
        columns: list[Floats] = []
        for resource in self.resources:
            added = resource.used[pairs.bundle] / resource.capacity[pairs.target]
            columns += resource.criteria(pairs.bundle, added, resource.loads[pairs.target])
        return np.stack(columns, axis=1)

    def scores(self, criteria: Floats) -> Floats:
        """Returns the scores of alternatives among all pairs."""
        return score_between(criteria, self.norms, self._lowest / self.norms, self._highest / self.norms)

    def _reach(self) -> Floats:
        """Returns, for each bundle and class, a score that no motion there exceeds."""
        reach = np.full((len(self.candidates), len(self.nodes.classes)), -np.inf)
        everybody = np.arange(len(self.candidates))
        for number, members in enumerate(self.nodes.classes):
            columns: list[Floats] = []
            for resource in self.resources:
                added = resource.used / resource.capacity[members[0]]
                emptiest = np.full(len(everybody), resource.loads[members].min())
                columns += resource.criteria(everybody, added, emptiest)
            reach[:, number] = self.scores(np.stack(columns, axis=1))
            if len(members) == 1:
                reach[self.candidates.source == members[0], number] = -np.inf
        return reach

    def top(self, limit: int) -> Pairs:
        """Returns the best pairs, best first."""
        reach = self._reach()
        flat = reach.ravel()
        kept = _Best(limit)
        left = np.flatnonzero(np.isfinite(flat))
        step = max(STEP, limit)
        while len(left):
            # The most promising ones first; what cannot reach the top any more is never looked at.
            if len(left) > step:
                ranked = np.argpartition(-flat[left], step)
                chosen, left = left[ranked[:step]], left[ranked[step:]]
            else:
                chosen, left = left, left[:0]
            bundles, classes = np.unravel_index(chosen, reach.shape)
            self._collect(kept, bundles, classes)
            left = left[flat[left] >= kept.worst()]
            step = min(4 * step, max(1, LARGEST_MATRIX // len(self.nodes)))
        near = kept.pairs()
        scores = self.scores(criteria_after(self.nodes, self.candidates, near))
        return near.take(np.argsort(-scores, kind="stable")[:limit])

    def _collect(self, kept: "_Best", bundles: Ints, classes: Ints) -> None:
        for number in np.unique(classes):
            chosen, members = bundles[classes == number], self.nodes.classes[number]
            may = self.candidates.source[chosen][:, None] != members[None, :]
            restricted = self.row_of[chosen] >= 0
            if restricted.any():
                may[restricted] = self.candidates.allowed[self.row_of[chosen[restricted]]][:, members]
            row, column = np.nonzero(may)
            if len(row):
                pairs = Pairs(chosen[row], members[column])
                kept.add(pairs, self.scores(self.criteria(pairs)))


class _Best:
    """The best pairs so far, and those that come so close that only exact scores can tell."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pairs = Pairs(np.empty(0, np.int64), np.empty(0, np.int64))
        self._scores = np.empty(0)

    def worst(self) -> float:
        """Returns the score that a pair must reach to matter."""
        if len(self._scores) < self._limit:
            return -np.inf
        return float(self._scores[self._limit - 1]) - 2.0 * SCORE_TOLERANCE

    def add(self, pairs: Pairs, scores: Floats) -> None:
        """Takes more pairs into account."""
        near = scores >= self.worst()
        bundle = np.concatenate([self._pairs.bundle, pairs.bundle[near]])
        target = np.concatenate([self._pairs.target, pairs.target[near]])
        merged = np.concatenate([self._scores, scores[near]])
        # What is equal up to the tolerance stays in order, so that the first ones are kept if there are too many.
        order = np.lexsort((target, bundle, -np.round(merged / SCORE_TOLERANCE)))[: self._limit + MOST_SETTLED]
        self._pairs, self._scores = Pairs(bundle[order], target[order]), merged[order]

    def pairs(self) -> Pairs:
        """Returns all that may be among the best, in order of bundle, then target."""
        near = self._pairs.take(self._scores >= self.worst())
        return near.take(np.lexsort((near.target, near.bundle)))


def _root_sums(
    resource: _Resource,
    rows: Ints,
    added: Floats,
    own: Floats,
    inside: Flags,
    loads: Floats,
) -> tuple[Floats, Floats]:
    """Returns, for each bundle, the sums over the targets of a class of sqrt(q) and of q.

    q is the sum of squared loads after the motion: `base + 2 added u` for a target with load u. Where the second part
    is small against the first the sum of roots is a power series, whose moments of u are the same for all bundles.
    """
    base = resource.squares[rows] + added * added
    targets = len(loads) - inside
    moments = np.array([(loads**power).sum() for power in range(TERMS)])
    first = moments[1] - np.where(inside, own, 0.0)
    squares = targets * base + 2.0 * added * first
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 2.0 * added / base
        convergent = (base > 0.0) & (ratio * loads[-1] <= SERIES_RATIO)
    sums = np.zeros(len(rows))
    chosen = np.flatnonzero(convergent)
    sums[chosen] = _series(ratio[chosen], own[chosen], inside[chosen], moments) * np.sqrt(base[chosen])
    slow = np.flatnonzero(~convergent)
    step = max(1, LARGEST_MATRIX // len(loads))
    for begin in range(0, len(slow), step):
        part = slow[begin : begin + step]
        values = np.sqrt(np.maximum(0.0, base[part, None] + 2.0 * added[part, None] * loads[None, :]))
        leaving = np.sqrt(np.maximum(0.0, base[part] + 2.0 * added[part] * own[part]))
        sums[part] = values.sum(axis=1) - np.where(inside[part], leaving, 0.0)
    return sums, squares


def _series(ratio: Floats, own: Floats, inside: Flags, moments: Floats) -> Floats:
    """Returns the sum of sqrt(1 + ratio u) over the loads u that the moments stand for, without the own one."""
    total = np.full(len(ratio), moments[0]) - inside
    coefficient = 1.0
    power = np.ones(len(ratio))
    own_power = np.where(inside, 1.0, 0.0)
    largest = float(ratio.max(initial=0.0))
    for term in range(1, TERMS):
        coefficient *= (1.5 - term) / term
        power = power * ratio
        own_power = own_power * own
        total += coefficient * power * (moments[term] - own_power)
        if abs(coefficient) * largest**term * moments[term] < 1e-17 * moments[0]:
            break
    return total


def _highest_sums(
    resource: _Resource,
    rows: Ints,
    added: Floats,
    own: Floats,
    inside: Flags,
    loads: Floats,
) -> Floats:
    """Returns, for each bundle, the sum over the targets of a class of (1 + highest load after the motion) squared."""
    others = resource.highest[rows]
    # Targets up to this place stay below the highest of the other nodes.
    below = np.searchsorted(loads, others - added, side="right")
    rest = np.concatenate([np.cumsum(loads[::-1])[::-1], [0.0]])
    rest_squares = np.concatenate([np.cumsum((loads * loads)[::-1])[::-1], [0.0]])
    above = len(loads) - below
    raised = 1.0 + added
    total = below * (1.0 + others) ** 2
    total += above * raised * raised + 2.0 * raised * rest[below] + rest_squares[below]
    leaving = 1.0 + np.maximum(others, own + added)
    return total - np.where(inside, leaving * leaving, 0.0)
