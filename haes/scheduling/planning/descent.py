"""Motions step by step downhill, with swaps and chains where no single motion helps: for clusters of any size.

Nothing is proved here. Each step looks at the fullest nodes and the emptiest ones first and at more only if those have
nothing to offer, so that a step costs about the same in a cluster of a thousand nodes as in one of ten.
"""

from collections.abc import Iterator

import numpy as np

from haes.scheduling.arrays import Flags, Floats, Ints
from haes.scheduling.planning.problem import Motion, Problem, Standing

# Motions of a plan at most, as for any other plan.
MOST_MOTIONS = 10_000
# Nodes looked at first, on either side; then this many times as many, until all are.
FIRST_SOURCES = 10
FIRST_TARGETS = 3
WIDENING = 5
# Exchanges of one plan at most: they are dear, and a cluster that needs more has no room at all.
MOST_EXCHANGES = 8
# Sources times targets up to which exchanges are looked for: each pair of nodes is looked at by itself.
MOST_NODE_PAIRS = 1000
# Chances that rules take away one by one are looked at up to this many for each step.
MOST_REFUSED = 64
# What a step must gain; less is an artefact of the arithmetic.
LEAST_GAIN = 1e-9
TINY = 1e-300
# Pairs for an exchange looked at in one step at most, as items of a matrix.
LARGEST_EXCHANGE = 400_000


class Descent:
    """A cluster on its way down.

    Args:
        problem: the cluster.
        urgency: what one hundredth over the ceiling weighs beside one hundredth of squared imbalance.
    """

    def __init__(self, problem: Problem, urgency: float) -> None:
        self.problem, self.urgency = problem, urgency
        self.standing = Standing(problem)
        nodes = problem.nodes
        self._cpu, self._mem = nodes.cpu.copy(), nodes.mem.copy()
        self._most_cpu, self._most_mem = problem.most_cpu(), problem.most_mem()
        self._per_cpu, self._per_mem = 0.5 / nodes.maxcpu, 0.5 / nodes.maxmem
        self._loads = self._cpu * self._per_cpu + self._mem * self._per_mem
        on = np.argsort(problem.source, kind="stable")
        bounds = np.searchsorted(problem.source[on], np.arange(len(nodes) + 1))
        self._on: list[Ints] = [on[bounds[node] : bounds[node + 1]] for node in range(len(nodes))]
        self._place = problem.source.copy()
        self._classes = nodes.classes
        self._size = problem.cpu * self._per_cpu[problem.source] + problem.mem * self._per_mem[problem.source]
        self._largest = np.array([self._size[there].max(initial=0.0) for there in self._on])
        self._row = np.full(len(problem.names), -1, dtype=np.int64)
        units = sorted(problem.restricted)
        self._row[units] = np.arange(len(units))
        self._flags: Flags = np.array([problem.restricted[unit] for unit in units], dtype=np.bool_).reshape(
            len(units), len(nodes)
        )
        self._misplaced = {unit for unit in units if not problem.may_be(unit, int(problem.source[unit]))}
        self.made: list[Motion] = []
        self._exchanges = 0

    def run(self) -> list[Motion]:
        """Goes down until the cluster is at rest or nothing helps any more, and returns the motions made."""
        while len(self.made) < MOST_MOTIONS and not self._is_at_rest():
            if not self._step():
                break
        return self.made

    def _is_at_rest(self) -> bool:
        if self._misplaced or (self._cpu > self._most_cpu).any() or (self._mem > self._most_mem).any():
            return False
        # The quick value decides nearly always; the exact one where it is close.
        if self._value() > self._value_of(self.problem.threshold) * (1.0 + LEAST_GAIN):
            return False
        return self.standing.unrest().at_rest()

    def _value(self) -> float:
        total = float(self._loads.sum())
        return len(self._loads) * float((self._loads * self._loads).sum()) / (total * total) if total else 1.0

    def _value_of(self, imbalance: float) -> float:
        return 1.0 + imbalance * imbalance * max(1, len(self._loads) - 1)

    def _step(self) -> bool:
        """Makes the best motion, or the best two that only help together; returns whether there were any."""
        if self._misplaced:
            units = np.array(sorted(self._misplaced), dtype=np.int64)
            best = self._best(units, np.arange(len(self._loads)), -np.inf)
            if best is not None:
                self._move(best)
                return True
        for sources, targets in self._circles():
            units = np.concatenate([self._on[node] for node in sources.tolist()])
            best = self._best(units, targets, LEAST_GAIN)
            if best is not None:
                self._move(best)
                return True
        return self._exchange()

    def _circles(self) -> Iterator[tuple[Ints, Ints]]:
        """Yields ever more of the nodes that have most to give, and of the emptiest ones of each capacity."""
        sources, targets, total = FIRST_SOURCES, FIRST_TARGETS, len(self._loads)
        promise = np.argsort(-self._promises(), kind="stable")
        over = np.flatnonzero((self._cpu > self._most_cpu) | (self._mem > self._most_mem))
        while True:
            some = [members[np.argsort(self._loads[members], kind="stable")[:targets]] for members in self._classes]
            yield np.union1d(promise[:sources], over[: sources * 4]), np.sort(np.concatenate(some))
            if sources >= total and targets >= total:
                return
            sources, targets = sources * WIDENING, targets * WIDENING

    def _promises(self) -> Floats:
        """Returns what a motion from each node could gain at best, about, if it had a unit of any smaller size, too."""
        loads, squares, total = self._loads, float((self._loads * self._loads).sum()), float(self._loads.sum())
        promises = np.full(len(loads), -np.inf)
        if not total:
            return promises
        for members in self._classes:
            low = float(loads[members].min())
            # A unit is that much larger on a node of this class; where shares of cpu and memory differ, about.
            ratio = self._per_cpu[members[0]] / self._per_cpu
            slope = 2.0 * (loads - ratio * low + squares / total * (ratio - 1.0))
            size = np.minimum(self._largest, np.maximum(0.0, slope / 2.0 / (1.0 + ratio * ratio)))
            promises = np.maximum(promises, size * (slope - size * (1.0 + ratio * ratio)))
        return promises

    def _excess(self, cpu: Floats, mem: Floats, node: Ints) -> Floats:
        """Returns by how much nodes that use so much would be over the ceiling, cpu and memory shares together."""
        over: Floats = np.maximum(0.0, cpu / self._most_cpu[node] - 1.0)
        return over + np.maximum(0.0, mem / self._most_mem[node] - 1.0)

    def _gains(self, units: Ints, targets: Ints) -> Floats:
        """Returns what moving units to targets would gain, shape (units, targets); -inf where it is not allowed."""
        problem, loads = self.problem, self._loads
        cpu, mem = problem.cpu[units], problem.mem[units]
        source = self._place[units]
        total, squares = float(loads.sum()), float((loads * loads).sum())
        off = cpu * self._per_cpu[source] + mem * self._per_mem[source]
        on = cpu[:, None] * self._per_cpu[targets] + mem[:, None] * self._per_mem[targets]
        after_total = total - off[:, None] + on
        after_squares = (squares + off * (off - 2.0 * loads[source]))[:, None] + on * (on + 2.0 * loads[targets])
        count = len(loads)
        # Without any load there is nothing to even out; a tiny one keeps the division whole.
        gains: Floats = squares / max(total * total, TINY) - after_squares / np.maximum(after_total * after_total, TINY)
        gains *= count / max(1, count - 1)
        if np.isfinite(problem.ceiling):
            before = self._excess(self._cpu[source], self._mem[source], source)
            after = self._excess(self._cpu[source] - cpu, self._mem[source] - mem, source)
            gains += (self.urgency * (before - after))[:, None]
        allowed = (self._cpu[targets] + cpu[:, None] <= self._most_cpu[targets]) & (
            self._mem[targets] + mem[:, None] <= self._most_mem[targets]
        )
        allowed &= source[:, None] != targets[None, :]
        rows = self._row[units]
        bound = np.flatnonzero(rows >= 0)
        allowed[bound] &= self._flags[rows[bound]][:, targets]
        gains[~allowed] = -np.inf
        return gains

    def _best(self, units: Ints, targets: Ints, least: float) -> Motion | None:
        """Returns the motion that gains most, and more than the least; names decide between equals."""
        if not len(units):
            return None
        gains = self._gains(units, targets)
        for _ in range(MOST_REFUSED):
            chosen = int(gains.argmax())
            row, column = divmod(chosen, len(targets))
            if not gains[row, column] > least:
                return None
            motion = Motion(int(units[row]), int(targets[column]))
            if self.standing.admits(motion):
                return motion
            gains[row, column] = -np.inf
        return None

    def _move(self, motion: Motion) -> None:
        problem, unit, target = self.problem, motion.unit, motion.target
        source = self.standing.move(motion)
        for node in (source, target):
            self._cpu[node], self._mem[node] = self.standing.cpu[node], self.standing.mem[node]
            self._loads[node] = self._cpu[node] * self._per_cpu[node] + self._mem[node] * self._per_mem[node]
        self._place[unit] = target
        left = self._on[source]
        self._on[source] = left[left != unit]
        there = self._on[target]
        self._on[target] = np.insert(there, int(np.searchsorted(there, unit)), unit)
        self._size[unit] = problem.cpu[unit] * self._per_cpu[target] + problem.mem[unit] * self._per_mem[target]
        for node in (source, target):
            self._largest[node] = self._size[self._on[node]].max(initial=0.0)
        self._misplaced.discard(unit)
        if not problem.may_be(unit, target):
            self._misplaced.add(unit)
        self.made.append(motion)

    def _exchange(self) -> bool:
        """Makes two motions that only help together: one makes room on a full node, the other uses it."""
        self._exchanges += 1
        if self._exchanges > MOST_EXCHANGES:
            return False
        for sources, targets in self._circles():
            best: tuple[float, Motion, Motion] | None = None
            for source in sources.tolist()[::-1]:
                for target in targets.tolist():
                    if source != target:
                        best = self._better_pair(source, target, targets, best)
            if best is not None:
                for motion in best[1:]:
                    self._move(motion)
                return True
            if len(sources) * len(targets) * WIDENING * WIDENING > MOST_NODE_PAIRS:
                break
        return False

    def _better_pair(
        self, source: int, target: int, others: Ints, best: tuple[float, Motion, Motion] | None
    ) -> tuple[float, Motion, Motion] | None:
        """Returns the best exchange so far, given one more pair of nodes."""
        problem, ins, outs = self.problem, self._on[source], self._on[target]
        if not len(ins) or not len(outs) or len(ins) * len(outs) > LARGEST_EXCHANGE:
            return best
        now = self._potential({})
        for place in dict.fromkeys((source, *others.tolist())):
            if place == target:
                continue
            gain = now - self._pair_potentials(ins, outs, source, target, place)
            for chosen in np.argsort(-gain, axis=None, kind="stable")[:MOST_REFUSED].tolist():
                row, column = divmod(int(chosen), len(outs))
                value = float(gain[row, column])
                if not value > max(LEAST_GAIN, best[0] if best else 0.0):
                    break
                come, leave = Motion(int(ins[row]), target), Motion(int(outs[column]), place)
                pair = self._allowed_order(come, leave)
                if pair is not None and not (problem.may_be(leave.unit, target) and place == target):
                    best = (value, *pair)
                    break
        return best

    def _allowed_order(self, one: Motion, two: Motion) -> tuple[Motion, Motion] | None:
        standing = self.standing
        for first, second in ((one, two), (two, one)):
            if not standing.admits(first):
                continue
            nodes = (standing.place[first.unit], first.target)
            before = [(node, standing.cpu[node], standing.mem[node]) for node in nodes]
            source = standing.move(first)
            possible = standing.admits(second)
            standing.place[first.unit] = source
            for node, cpu, mem in before:
                standing.cpu[node], standing.mem[node] = cpu, mem
            if possible:
                return first, second
        return None

    def _potential(self, changed: dict[int, tuple[float, float]]) -> float:
        cpu, mem = self._cpu.copy(), self._mem.copy()
        for node, (more_cpu, more_mem) in changed.items():
            cpu[node] += more_cpu
            mem[node] += more_mem
        loads = cpu * self._per_cpu + mem * self._per_mem
        total, count = float(loads.sum()), len(loads)
        value = count * float((loads * loads).sum()) / (total * total) if total else 1.0
        excess = 0.0
        if np.isfinite(self.problem.ceiling):
            excess = float(self._excess(cpu, mem, np.arange(count)).sum())
        return value / max(1, count - 1) + self.urgency * excess

    def _pair_potentials(self, ins: Ints, outs: Ints, source: int, target: int, place: int) -> Floats:
        """Returns the potential after each of `ins` went from source to target and each of `outs` to a place."""
        problem, loads = self.problem, self._loads
        in_cpu, in_mem = problem.cpu[ins][:, None], problem.mem[ins][:, None]
        out_cpu, out_mem = problem.cpu[outs][None, :], problem.mem[outs][None, :]
        changed: dict[int, tuple[Floats, Floats]] = {
            target: (self._cpu[target] + in_cpu - out_cpu, self._mem[target] + in_mem - out_mem)
        }
        if place == source:
            changed[source] = (self._cpu[source] - in_cpu + out_cpu, self._mem[source] - in_mem + out_mem)
        else:
            shape = np.zeros((len(ins), len(outs)))
            changed[source] = (self._cpu[source] - in_cpu + shape, self._mem[source] - in_mem + shape)
            changed[place] = (self._cpu[place] + out_cpu + shape, self._mem[place] + out_mem + shape)
        total, squares = float(loads.sum()), float((loads * loads).sum())
        limited = np.isfinite(problem.ceiling)
        excess = float(self._excess(self._cpu, self._mem, np.arange(len(loads))).sum()) if limited else 0.0
        sums, lengths = np.full((len(ins), len(outs)), total), np.full((len(ins), len(outs)), squares)
        over: Floats = np.full((len(ins), len(outs)), excess)
        for node, (cpu, mem) in changed.items():
            load = cpu * self._per_cpu[node] + mem * self._per_mem[node]
            sums += load - loads[node]
            lengths += load * load - loads[node] * loads[node]
            if limited:
                number = np.array(node)
                over = over + self._excess(cpu, mem, number) - self._excess(self._cpu[node], self._mem[node], number)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.nan_to_num(len(loads) * lengths / (sums * sums), nan=1.0)
        potentials: Floats = value / max(1, len(loads) - 1) + self.urgency * over
        return potentials
