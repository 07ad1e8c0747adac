"""What is to be planned: units that move as one, nodes, and when the cluster is at rest; knows no way of searching."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from haes.scheduling.arrays import Flags, Floats, Ints, NodeArrays
from haes.scheduling.exact import imbalance_of_rows

# What sums of many floats may be off by, relative: a node filled to exactly its ceiling is not over it.
ROUNDING = 1e-12


@dataclass(slots=True)
class Problem:
    """A cluster, what may move in it, and what is wanted.

    Attributes:
        nodes: the nodes; never changed.
        names: the units by the names of their leaders, sorted.
        source: for each unit the number of its node.
        cpu, mem: what each unit uses.
        restricted: unit -> flags of the nodes that it may move to or stay on; others may be everywhere.
        apart: unit -> units that it must not share a node with, in both directions.
        threshold: the imbalance not to exceed, 0..1.
        ceiling: the share of cpu and of memory that no node is to exceed, as a fraction; infinite for none.
        by_name: name -> number of the unit.
    """

    nodes: NodeArrays
    names: Sequence[str]
    source: Ints
    cpu: Floats
    mem: Floats
    restricted: Mapping[int, Flags]
    apart: Mapping[int, frozenset[int]]
    threshold: float
    ceiling: float
    by_name: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Numbers the units."""
        self.by_name = {name: number for number, name in enumerate(self.names)}

    def may_be(self, unit: int, node: int) -> bool:
        """Returns whether a unit may be on a node, whatever else is there."""
        flags = self.restricted.get(unit)
        return flags is None or bool(flags[node])

    def allowed(self) -> Flags:
        """Returns for every unit and node whether the one may be on the other, shape (units, nodes)."""
        allowed = np.ones((len(self.names), len(self.nodes)), dtype=np.bool_)
        for unit, flags in self.restricted.items():
            allowed[unit] = flags
        return allowed

    def most_cpu(self) -> Floats:
        """Returns the cores that each node may use at most."""
        limit: Floats = self.nodes.maxcpu * self.ceiling * (1.0 + ROUNDING)
        return limit

    def most_mem(self) -> Floats:
        """Returns the bytes that each node may use at most."""
        limit: Floats = self.nodes.maxmem * self.ceiling * (1.0 + ROUNDING)
        return limit


@dataclass(slots=True, frozen=True)
class Motion:
    """A unit that goes to a node, both as numbers."""

    unit: int
    target: int


@dataclass(slots=True, frozen=True, order=True)
class Unrest:
    """How far a cluster is from rest; less is better, the first thing first.

    Attributes:
        misplaced: units where they must not be, and pairs that must not share a node.
        excess: by how much nodes are over the ceiling, summed over cpu and memory shares.
        over_threshold: the imbalance where it is over the threshold, else 0.
    """

    misplaced: int
    excess: float
    over_threshold: float

    def at_rest(self) -> bool:
        """Returns whether nothing is left to do."""
        return not self.misplaced and not self.excess and not self.over_threshold


class Standing:
    """A cluster in the middle of a plan: where every unit is, and what every node uses."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.cpu: list[float] = problem.nodes.cpu.tolist()
        self.mem: list[float] = problem.nodes.mem.tolist()
        self.place: list[int] = problem.source.tolist()
        self._most_cpu: list[float] = problem.most_cpu().tolist()
        self._most_mem: list[float] = problem.most_mem().tolist()

    def admits(self, motion: Motion) -> bool:
        """Returns whether a motion may be made now: rules hold, and its target stays under the ceiling."""
        problem, unit, target = self.problem, motion.unit, motion.target
        if target == self.place[unit] or not problem.may_be(unit, target):
            return False
        if any(self.place[other] == target for other in problem.apart.get(unit, ())):
            return False
        return (
            self.cpu[target] + float(problem.cpu[unit]) <= self._most_cpu[target]
            and self.mem[target] + float(problem.mem[unit]) <= self._most_mem[target]
        )

    def move(self, motion: Motion) -> int:
        """Makes a motion and returns the node that the unit came from."""
        problem, unit, target = self.problem, motion.unit, motion.target
        source = self.place[unit]
        for used, moved in ((self.cpu, float(problem.cpu[unit])), (self.mem, float(problem.mem[unit]))):
            used[source] = max(0.0, used[source] - moved)
            used[target] += moved
        self.place[unit] = target
        return source

    def imbalance(self) -> float:
        """Returns how unevenly the nodes are loaded, 0..1."""
        nodes = self.problem.nodes
        loads = (np.array(self.cpu) / nodes.maxcpu + np.array(self.mem) / nodes.maxmem) / 2.0
        return float(imbalance_of_rows(loads[None, :])[0])

    def unrest(self) -> Unrest:
        """Returns how far the cluster is from rest."""
        problem, place = self.problem, self.place
        misplaced = sum(not flags[place[unit]] for unit, flags in problem.restricted.items())
        misplaced += sum(
            place[unit] == place[other] for unit, others in problem.apart.items() for other in others if unit < other
        )
        excess = 0.0
        for used, most in ((self.cpu, self._most_cpu), (self.mem, self._most_mem)):
            excess += sum((value - limit) / limit for value, limit in zip(used, most, strict=True) if value > limit)
        now = self.imbalance()
        return Unrest(misplaced, excess, now if now > problem.threshold else 0.0)
