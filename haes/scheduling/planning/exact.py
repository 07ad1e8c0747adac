"""The fewest motions, proved: every set of changes of place that could bring the cluster to rest, smallest sets first.

A final state is at rest when it lies in a convex set: loads within a cone around evenness, cpu and memory below the
ceiling. So each partial set of changes has a plane that separates it from rest, and only changes that can still cross
it together are looked at. Whole arrays of partial sets are extended at once.

The amount of work is counted and bounded, never timed, so that the same question always gets the same answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from haes.scheduling.arrays import Flags, Floats, Ints
from haes.scheduling.planning.cuts import best_others, plane
from haes.scheduling.planning.ordering import in_order, with_stop, with_two_stops
from haes.scheduling.planning.problem import Motion, Problem, Standing

# Cells (partial sets times units times nodes) that one array has at most: 8 MB of floats, within the caches' reach.
LARGEST_CHUNK = 250_000
# Cells looked at in one search; about ten nanoseconds each.
MOST_CELLS = 120_000_000
# Final states that are at rest but that no order reaches directly, kept for a try with stops on the way.
MOST_KEPT = 500
# What putting one set of changes in order counts as, in cells: it is done one by one.
ORDERING_CELLS = 10_000
# What making one set counts as, in cells for each node.
CELLS_PER_SET = 8
# A plan must be better than the best so far by this much; less is an artefact of the arithmetic.
LEAST_GAIN = 1e-12
# Slack of the bounds, so that rounding never cuts away what is just at rest.
SLACK = 1e-10


@dataclass(slots=True)
class Found:
    """What a search came to.

    Attributes:
        motions: the best sequence, or None.
        imbalance: what it leads to.
        bound: no sequence with fewer motions than this exists.
        is_best: whether no sequence as short leads to a lower imbalance.
    """

    motions: list[Motion] | None = None
    imbalance: float = np.inf
    bound: int = 0
    is_best: bool = False


class _Exhausted(Exception):
    """The bound on the work is reached."""


@dataclass(slots=True)
class _Partial:
    """Some partial sets of changes, each of the same size, and the state that each leads to."""

    cpu: Floats
    mem: Floats
    chosen: Ints = field(default_factory=lambda: np.empty((1, 0), np.int64))

    def __len__(self) -> int:
        return len(self.cpu)

    def part(self, begin: int, end: int) -> "_Partial":
        return _Partial(self.cpu[begin:end], self.mem[begin:end], self.chosen[begin:end])


def likely(problem: Problem, size: int, width: int, *, cells: int = MOST_CELLS) -> Found:
    """Returns a sequence of so many motions that brings a cluster to rest, if it lies near the most likely sets.

    Args:
        problem: the cluster.
        size: motions.
        width: partial sets that are followed at each step.
        cells: how much work may be done.
    """
    return _Search(problem, cells).follow(size, width)


def fewest(problem: Problem, most: int, *, begin: int = 1, cells: int = MOST_CELLS) -> Found:
    """Returns the shortest sequence that brings a cluster to rest that is not at rest, and of those the most even one.

    Args:
        problem: the cluster.
        most: motions of a sequence at most.
        begin: no sequence with fewer motions exists, as the caller knows.
        cells: how much work may be done.
    """
    return _Search(problem, cells).run(begin, most)


class _Search:
    def __init__(self, problem: Problem, cells: int) -> None:
        self.problem, self.left = problem, cells
        nodes = problem.nodes
        allowed = problem.allowed()
        must = ~allowed[np.arange(len(problem.names)), problem.source]
        allowed[np.arange(len(problem.names)), problem.source] = False
        self.per_cpu, self.per_mem = 0.5 / nodes.maxcpu, 0.5 / nodes.maxmem
        weight = problem.cpu[:, None] * self.per_cpu + problem.mem[:, None] * self.per_mem
        size = weight.mean(axis=1)
        movable = [unit for unit in range(len(problem.names)) if allowed[unit].any()]
        # What must move comes first, then the largest: the bounds are best when only small ones are left.
        order = sorted(movable, key=lambda unit: (not must[unit], -float(size[unit]), unit))
        self.units = np.array(order, dtype=np.int64)
        self.must = int(must[self.units].sum()) if order else 0
        self.is_hopeless = bool(must.sum() != self.must)
        self.allowed = allowed[self.units]
        self.source = problem.source[self.units]
        self.weight = weight[self.units]
        self.cpu, self.mem = problem.cpu[self.units], problem.mem[self.units]
        self.most_cpu, self.most_mem = problem.most_cpu(), problem.most_mem()
        self.twin = self._twins()
        self.limit = problem.threshold
        self.best = Found()
        # Sets that are at rest in the end but that cannot be made directly, and whether all of them are kept.
        self.kept: dict[int, list[list[Motion]]] = {}
        self.all_kept = True

    def _twins(self) -> Flags:
        """Returns for each unit whether it is like the one before in every respect, so that one of both is enough."""
        twin = np.zeros(len(self.units), dtype=np.bool_)
        for place in range(1, len(self.units)):
            one, two = int(self.units[place - 1]), int(self.units[place])
            twin[place] = (
                self.source[place] == self.source[place - 1]
                and self.cpu[place] == self.cpu[place - 1]
                and self.mem[place] == self.mem[place - 1]
                and bool((self.allowed[place] == self.allowed[place - 1]).all())
                and self.problem.apart.get(one) == self.problem.apart.get(two)
            )
        return twin

    def run(self, begin: int, most: int) -> Found:
        nodes = self.problem.nodes
        self.best.bound = begin
        if self.is_hopeless or not len(self.units):
            return self.best
        start = _Partial(nodes.cpu[None, :], nodes.mem[None, :])
        for size in range(1, most + 1):
            self.size = size
            try:
                # Sets smaller than the known bound are wanted, too: with a stop on the way they may be what is left.
                if size >= begin - 2:
                    self._tops = self._largest(size)
                    self._extend(start, size)
                    self._with_stops(size)
            except _Exhausted:
                return self.best
            if self.best.motions is not None:
                self.best.is_best = True
                return self.best
            if self.all_kept and all(made >= size - 2 for made in self.kept):
                self.best.bound = max(begin, size + 1)
        return self.best

    def follow(self, size: int, width: int) -> Found:
        """Follows the partial sets that are nearest to rest, and no others."""
        nodes = self.problem.nodes
        if self.is_hopeless or not len(self.units):
            return self.best
        self.size, self._tops = size, self._largest(size)
        partial = _Partial(nodes.cpu[None, :], nodes.mem[None, :])
        try:
            for left in range(size, 0, -1):
                parts = [found for found in self._chunks(partial, left) if len(found)]
                if not parts:
                    return self.best
                # Each chunk is thinned out by itself first, so that all together never fill the memory.
                partial = _joined([self._nearest(part, width) for part in parts] if left > 1 else parts)
                if left > 1:
                    partial = self._nearest(partial, width)
            self._take_in(partial)
        except _Exhausted:
            pass
        return self.best

    def _chunks(self, partial: _Partial, left: int) -> Iterator[_Partial]:
        """Yields partial sets with one change more, for some of those given at a time."""
        cells = len(self.units) * len(self.problem.nodes)
        step = max(1, LARGEST_CHUNK // cells)
        for begin in range(0, len(partial), step):
            chunk = partial.part(begin, begin + step)
            self._spend(len(chunk) * cells)
            bigger = self._children(chunk, left)
            # Making a set costs as much as looking at a few.
            self._spend(len(bigger) * len(self.problem.nodes) * CELLS_PER_SET)
            yield bigger

    def _nearest(self, partial: _Partial, width: int) -> _Partial:
        """Returns the partial sets whose states are nearest to rest."""
        if len(partial) <= width:
            return partial
        loads = partial.cpu * self.per_cpu + partial.mem * self.per_mem
        excess = np.maximum(0.0, partial.cpu / self.most_cpu - 1.0) + np.maximum(0.0, partial.mem / self.most_mem - 1.0)
        away = loads.std(axis=1) / loads.mean(axis=1) / np.sqrt(max(1, loads.shape[1] - 1)) + excess.sum(axis=1)
        rows = np.sort(np.argsort(away, kind="stable")[:width])
        return _Partial(partial.cpu[rows], partial.mem[rows], partial.chosen[rows])

    def _spend(self, cells: int) -> None:
        self.left -= cells
        if self.left < 0:
            raise _Exhausted

    def _largest(self, count: int) -> Floats:
        """Returns sums of the largest units on each node among those from each place on.

        Shape (cpu or memory, places + 1, nodes, count + 1); item k is the sum of the k largest.
        """
        places, nodes = len(self.units), len(self.problem.nodes)
        tops = np.zeros((2, places + 1, nodes, count + 1))
        for kind, values in enumerate((self.cpu, self.mem)):
            largest: list[list[float]] = [[] for _ in range(nodes)]
            for place in range(places - 1, -1, -1):
                tops[kind, place] = tops[kind, place + 1]
                node = int(self.source[place])
                largest[node] = sorted([*largest[node], float(values[place])], reverse=True)[:count]
                sums = np.cumsum(largest[node])
                tops[kind, place, node, 1 : 1 + len(sums)] = sums
                tops[kind, place, node, 1 + len(sums) :] = sums[-1]
        return tops

    def _extend(self, partial: _Partial, left: int) -> None:
        """Extends partial sets by `left` more changes each, and takes in those that bring the cluster to rest."""
        for bigger in self._chunks(partial, left):
            if left > 1 and len(bigger):
                self._extend(bigger, left - 1)
            elif len(bigger):
                self._take_in(bigger)

    def _children(self, partial: _Partial, left: int) -> _Partial:
        """Returns partial sets with one change more that may still come to rest with the changes left after it."""
        nodes = len(self.problem.nodes)
        last = partial.chosen[:, -1] // nodes if partial.chosen.shape[1] else np.full(len(partial), -1)
        from_here, total = self._leavers(partial, last, left)
        rows = np.flatnonzero(total <= left)
        rows = rows[self._must_left(partial, last)[rows] <= left]
        if not len(rows):
            return partial.part(0, 0)
        kept = _Partial(partial.cpu[rows], partial.mem[rows], partial.chosen[rows])
        last, from_here, total = last[rows], from_here[rows], total[rows]
        slope, distance = plane(kept.cpu * self.per_cpu + kept.mem * self.per_mem, self.limit)
        away = self.weight[np.arange(len(self.units)), self.source] * slope[:, self.source]
        gain = away[:, :, None] - self.weight[None] * slope[:, None, :]
        later = np.arange(len(self.units))[None, :] > last[:, None]
        open_ = later[:, :, None] & self.allowed[None]
        # Where as many must leave full nodes as changes are left, nobody else may move.
        open_ &= ((total < left)[:, None] | from_here[:, self.source])[:, :, None]
        gain[~open_] = -np.inf
        # Units like others may still follow those, so they count here even where they may not be next.
        others = best_others(gain.max(axis=2), left - 1)
        self._break_ties(kept, last, open_)
        gain[~open_] = -np.inf
        set_, place, target = np.nonzero(gain + others[:, :, None] >= distance[:, None, None] - SLACK)
        cpu, mem = kept.cpu[set_], kept.mem[set_]
        row = np.arange(len(set_))
        for used, moved in ((cpu, self.cpu[place]), (mem, self.mem[place])):
            used[row, self.source[place]] -= moved
            used[row, target] += moved
        chosen = np.concatenate([kept.chosen[set_], (place * nodes + target)[:, None]], axis=1)
        return _Partial(cpu, mem, chosen)

    def _must_left(self, partial: _Partial, last: Ints) -> Ints:
        """Returns how many units that must move are not chosen; very many if one of them was passed over already.

        They come first in the order, and what comes before what was chosen last is not looked at any more.
        """
        if not self.must:
            return np.zeros(len(partial), dtype=np.int64)
        chosen = (partial.chosen // len(self.problem.nodes) < self.must).sum(axis=1)
        passed = np.minimum(self.must, last + 1)
        left: Ints = np.where(passed > chosen, len(self.units) + 1, self.must - chosen)
        return left

    def _break_ties(self, partial: _Partial, last: Ints, open_: Flags) -> None:
        """Of units that are alike only the first ones move, and their targets are in order."""
        if not self.twin.any():
            return
        after_twin = np.arange(len(self.units))[None, :] == last[:, None] + 1
        open_ &= (~self.twin[None, :] | after_twin)[:, :, None]
        if not partial.chosen.shape[1]:
            return
        follower = np.minimum(last + 1, len(self.units) - 1)
        rows = np.flatnonzero(self.twin[follower] & (last + 1 < len(self.units)))
        nodes = len(self.problem.nodes)
        open_[rows, follower[rows]] &= np.arange(nodes)[None, :] >= (partial.chosen[rows, -1] % nodes)[:, None]

    def _leavers(self, partial: _Partial, last: Ints, left: int) -> tuple[Flags, Ints]:
        """Returns which nodes are over the ceiling, and how many units must leave them at least."""
        over_cpu = partial.cpu - self.most_cpu
        over_mem = partial.mem - self.most_mem
        over = (over_cpu > 0) | (over_mem > 0)
        total = np.zeros(len(partial), dtype=np.int64)
        if not over.any():
            return over, total
        rows = np.flatnonzero(over.any(axis=1))
        need = np.zeros((len(rows), over.shape[1]), dtype=np.int64)
        for kind, excess in enumerate((over_cpu[rows], over_mem[rows])):
            tops = self._tops[kind, last[rows] + 1][:, :, : left + 1]
            # Where even all of them are too few, the sum says one more than are left.
            enough = (tops < excess[:, :, None] * (1.0 - SLACK)).sum(axis=2)
            need = np.maximum(need, np.where(excess > 0, enough, 0))
        total[rows] = need.sum(axis=1)
        return over, total

    def _take_in(self, partial: _Partial) -> None:
        """Takes in sets that are whole: those at rest are put in order, the most even one first."""
        inside = ((partial.cpu <= self.most_cpu) & (partial.mem <= self.most_mem)).all(axis=1)
        if self.must:
            inside &= (partial.chosen // len(self.problem.nodes) < self.must).sum(axis=1) == self.must
        partial = _Partial(partial.cpu[inside], partial.mem[inside], partial.chosen[inside])
        loads = partial.cpu * self.per_cpu + partial.mem * self.per_mem
        count = loads.shape[1]
        mean = loads.mean(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            imbalance = np.nan_to_num(loads.std(axis=1) / mean / np.sqrt(max(1, count - 1)))
        for row in np.argsort(imbalance, kind="stable").tolist():
            if imbalance[row] > self.limit + SLACK:
                break
            changes = [
                Motion(int(self.units[code // count]), int(code % count)) for code in partial.chosen[row].tolist()
            ]
            if not self._keeps_apart(changes):
                continue
            self._spend(ORDERING_CELLS)
            motions = in_order(self.problem, changes)
            if motions is not None:
                self._accept(motions)
            elif self.best.motions is None:
                kept = self.kept.setdefault(len(changes), [])
                if len(kept) < MOST_KEPT:
                    kept.append(changes)
                else:
                    self.all_kept = False

    def _keeps_apart(self, changes: list[Motion]) -> bool:
        problem = self.problem
        if not problem.apart:
            return True
        place = {change.unit: change.target for change in changes}
        return all(
            place.get(other, int(problem.source[other])) != place.get(unit, int(problem.source[unit]))
            for unit, others in problem.apart.items()
            for other in others
        )

    def _with_stops(self, size: int) -> None:
        """Looks at smaller sets again, which no order reaches directly, with one or two motions more."""
        for less, way in ((1, with_stop), (2, with_two_stops)):
            for changes in self.kept.get(size - less, []):
                self._spend(ORDERING_CELLS * 100)
                motions = way(self.problem, changes)
                if motions is not None:
                    self._accept(motions)

    def _accept(self, motions: list[Motion]) -> None:
        """Takes a sequence when the very arithmetic of a round agrees, and looks for better ones only."""
        standing = Standing(self.problem)
        for motion in motions:
            standing.move(motion)
        imbalance = standing.imbalance()
        if standing.unrest().at_rest() and imbalance < self.best.imbalance - LEAST_GAIN:
            self.best.motions, self.best.imbalance = motions, imbalance
            self.limit = min(self.limit, imbalance)


def _joined(parts: list[_Partial]) -> _Partial:
    """Returns all partial sets of all parts."""
    return _Partial(
        np.concatenate([part.cpu for part in parts]),
        np.concatenate([part.mem for part in parts]),
        np.concatenate([part.chosen for part in parts]),
    )
