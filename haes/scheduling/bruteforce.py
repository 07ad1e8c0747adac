"""The best motions by imbalance, without looking at nearly any pair.

After a motion the imbalance follows from two running sums, of loads and of squared loads. Among nodes of equal capacity
a bundle adds the same load wherever it goes, so the best target is always the least loaded one: one evaluation for each
bundle and class of nodes. Only the pairs near the top are then settled exactly.
"""

import numpy as np

from haes.scheduling.arrays import CandidateArrays, Flags, Floats, Ints, NodeArrays, Pairs
from haes.scheduling.exact import LARGEST_MATRIX, imbalance_after

# How far (relative) a quickly computed value may be from the true one; pairs within it of the limit are settled.
TOLERANCE = 1e-11
# Pairs settled at most. Beyond it all differ by less than the arithmetic can tell, and the order of names decides.
MOST_SETTLED = 20_000


class _Sums:
    """What stays the same for all motions: loads, their sum and the sum of their squares."""

    def __init__(self, nodes: NodeArrays, candidates: CandidateArrays) -> None:
        self.nodes, self.candidates = nodes, candidates
        self.loads = nodes.loads()
        source = candidates.source
        before = self.loads[source]
        after = (
            np.maximum(0.0, nodes.cpu[source] - candidates.cpu) / nodes.maxcpu[source]
            + np.maximum(0.0, nodes.mem[source] - candidates.mem) / nodes.maxmem[source]
        ) / 2.0
        # The sums once the bundle has left its source.
        self.total = self.loads.sum() - before + after
        self.squares = (self.loads * self.loads).sum() - before * before + after * after

    def value(self, bundle: Ints, target_load: Floats, capacity_of: int) -> Floats:
        """Returns a value that grows with the imbalance after moving bundles to nodes of one class.

        It is nodes * sum of squares / square of sum, from 1 (balanced) on.
        """
        nodes, candidates = self.nodes, self.candidates
        added = (
            candidates.cpu[bundle] / nodes.maxcpu[capacity_of] + candidates.mem[bundle] / nodes.maxmem[capacity_of]
        ) / 2.0
        total = self.total[bundle] + added
        squares = self.squares[bundle] + added * (added + 2.0 * target_load)
        with np.errstate(divide="ignore", invalid="ignore"):
            value: Floats = np.where(total > 0.0, len(nodes) * squares / (total * total), 1.0)
        return value


def best_motions(nodes: NodeArrays, candidates: CandidateArrays, limit: int) -> tuple[Pairs, Floats]:
    """Returns up to `limit` best motions and the imbalance after each, best first.

    Equal imbalances are in order of bundle, then target.
    """
    if not len(candidates) or not len(nodes) or limit < 1:
        return Pairs(np.empty(0, np.int64), np.empty(0, np.int64)), np.empty(0)
    sums = _Sums(nodes, candidates)
    lowest = _lowest_values(sums)
    bound = _bound(lowest, limit)
    pairs = _near(sums, lowest, bound, limit)
    imbalances = imbalance_after(nodes, candidates, pairs)
    order = np.lexsort((pairs.target, pairs.bundle, imbalances))[:limit]
    return pairs.take(order), imbalances[order]


def _lowest_values(sums: _Sums) -> Floats:
    """Returns the value of each bundle's best target in each class, shape (bundles, classes); inf where none is."""
    nodes, candidates = sums.nodes, sums.candidates
    lowest = np.full((len(candidates), len(nodes.classes)), np.inf)
    free = candidates.free()
    for number, members in enumerate(nodes.classes):
        ranked = members[np.argsort(sums.loads[members], kind="stable")]
        first = sums.loads[ranked[0]]
        second = sums.loads[ranked[1]] if len(ranked) > 1 else np.inf
        load = np.where(candidates.source[free] == ranked[0], second, first)
        usable = np.isfinite(load)
        rows = free if usable.all() else free[usable]
        lowest[rows, number] = sums.value(rows, load[usable], int(members[0]))
        _restricted_lowest(sums, lowest, number, members)
    return lowest


def _restricted_lowest(sums: _Sums, lowest: Floats, number: int, members: Ints) -> None:
    candidates = sums.candidates
    step = max(1, LARGEST_MATRIX // max(1, len(members)))
    for begin in range(0, len(candidates.restricted), step):
        rows = candidates.restricted[begin : begin + step]
        allowed = candidates.allowed[begin : begin + step][:, members]
        load = np.where(allowed, sums.loads[members], np.inf).min(axis=1)
        usable = np.isfinite(load)
        lowest[rows[usable], number] = sums.value(rows[usable], load[usable], int(members[0]))


def _bound(lowest: Floats, limit: int) -> float:
    """Returns a value that at least `limit` pairs do not exceed, or the largest there is, with tolerance."""
    values = lowest[np.isfinite(lowest)]
    if not len(values):
        return -np.inf
    if len(values) <= limit:
        # Fewer bundles and classes than wanted: further targets of the same ones belong to the result, too.
        return np.inf
    return float(np.partition(values, limit - 1)[limit - 1]) * (1.0 + TOLERANCE)


def _near(sums: _Sums, lowest: Floats, bound: float, limit: int) -> Pairs:
    """Returns the pairs that do not exceed the bound, in order of bundle, then target."""
    bundles, classes = np.nonzero(lowest <= bound if np.isfinite(bound) else np.isfinite(lowest))
    kept = _first_of_equals(sums.candidates, bundles, classes, limit)
    bundles, classes = bundles[kept], classes[kept]
    row_of = np.full(len(sums.candidates), -1, dtype=np.int64)
    row_of[sums.candidates.restricted] = np.arange(len(sums.candidates.restricted))
    found_bundles, found_targets = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, members in enumerate(sums.nodes.classes):
        chosen = bundles[classes == number]
        step = max(1, LARGEST_MATRIX // max(1, len(members)))
        for begin in range(0, len(chosen), step):
            part = chosen[begin : begin + step]
            may = _may(sums.candidates, row_of, part, members)
            row, column = np.nonzero(may)
            value = sums.value(part[row], sums.loads[members[column]], int(members[0]))
            near = value <= bound
            found_bundles.append(part[row[near]])
            found_targets.append(members[column[near]])
    pairs = Pairs(np.concatenate(found_bundles), np.concatenate(found_targets))
    order = np.lexsort((pairs.target, pairs.bundle))
    return pairs.take(order[:MOST_SETTLED] if np.isfinite(bound) else order)


def _may(candidates: CandidateArrays, row_of: Ints, bundles: Ints, members: Ints) -> Flags:
    """Returns which bundles may go to which members of a class, shape (bundles, members)."""
    may: Flags = candidates.source[bundles][:, None] != members[None, :]
    restricted = row_of[bundles] >= 0
    if restricted.any():
        may[restricted] = candidates.allowed[row_of[bundles[restricted]]][:, members]
    return may


def _first_of_equals(candidates: CandidateArrays, bundles: Ints, classes: Ints, limit: int) -> Ints:
    """Keeps, of unrestricted bundles on one node with one load, the first few: the others come after them anyway."""
    if len(bundles) <= limit:
        return np.arange(len(bundles))
    is_restricted = np.zeros(len(candidates), dtype=np.bool_)
    is_restricted[candidates.restricted] = True
    # Restricted bundles differ in where they may go, so each is a group of its own.
    own = np.where(is_restricted[bundles], bundles, -1)
    keys = (bundles, own, candidates.mem[bundles], candidates.cpu[bundles], candidates.source[bundles], classes)
    order = np.lexsort(keys)
    changed = np.ones(len(order), dtype=np.bool_)
    if len(order) > 1:
        changed[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys[1:]], axis=0)
    starts = np.flatnonzero(changed)
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return np.sort(order[rank < limit])
