"""Nodes and candidates as arrays, the common ground of all scoring; knows no method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from haes.scheduling.stats import NodeStats

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class NodeArrays:
    """The nodes in order of name; every array has one item for each.

    Attributes:
        names: their names.
        maxcpu, maxmem: capacities, whole cores and bytes.
        cpu, mem: what is used.
        number_of: name -> place in the arrays.
        classes: for each class of equal capacity the numbers of its nodes.
    """

    names: tuple[str, ...]
    maxcpu: Floats
    maxmem: Floats
    cpu: Floats
    mem: Floats
    number_of: dict[str, int] = field(init=False)
    classes: list[Ints] = field(init=False)

    def __post_init__(self) -> None:
        """Groups the nodes by capacity."""
        capacities = np.stack([self.maxcpu, self.maxmem], axis=1)
        _, class_of = np.unique(capacities, axis=0, return_inverse=True)
        class_of = class_of.reshape(-1)
        self.classes = [np.flatnonzero(class_of == number) for number in range(class_of.max(initial=-1) + 1)]
        self.number_of = {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def loads(self) -> Floats:
        """Returns the load of each node: the mean of its cpu share and its memory share."""
        loads: Floats = (self.cpu / self.maxcpu + self.mem / self.maxmem) / 2.0
        return loads


def node_arrays(stats: Mapping[str, NodeStats]) -> NodeArrays:
    """Returns nodes as arrays; capacities are cut to whole cores and bytes."""
    names = tuple(sorted(stats))
    values = [stats[name] for name in names]
    return NodeArrays(
        names,
        np.array([int(value.maxcpu) for value in values], dtype=np.float64),
        np.array([int(value.maxmem) for value in values], dtype=np.float64),
        np.array([value.cpu for value in values], dtype=np.float64),
        np.array([value.mem for value in values], dtype=np.float64),
    )


@dataclass(slots=True)
class CandidateArrays:
    """What could move, in order of name; every array has one item for each bundle.

    Attributes:
        names: the bundles' leaders.
        source: number of the node that the bundle is on.
        cpu, mem: what the bundle uses.
        restricted: numbers of the bundles that may not go everywhere.
        allowed: for each of those, a row with a flag for each node. Unrestricted ones may go to all but their source.
    """

    names: Sequence[str]
    source: Ints
    cpu: Floats
    mem: Floats
    restricted: Ints
    allowed: Flags

    def __len__(self) -> int:
        return len(self.names)

    def pair_count(self, nodes: int) -> int:
        """Returns the number of (bundle, target) pairs."""
        return (len(self.names) - len(self.restricted)) * max(0, nodes - 1) + int(self.allowed.sum())

    def free(self) -> Ints:
        """Returns the numbers of the bundles that may go everywhere."""
        is_free = np.ones(len(self.names), dtype=np.bool_)
        is_free[self.restricted] = False
        return np.flatnonzero(is_free)


def candidate_arrays(
    names: Sequence[str],
    source: Sequence[int],
    loads: Sequence[tuple[float, float]],
    targets: Mapping[int, Sequence[int]],
    node_count: int,
) -> CandidateArrays:
    """Returns candidates as arrays.

    Args:
        names: leaders, sorted.
        source: for each the number of its node.
        loads: for each (cpu, mem).
        targets: number of a restricted bundle -> numbers of the nodes it may go to.
        node_count: number of nodes.
    """
    restricted = np.array(sorted(targets), dtype=np.int64)
    allowed = np.zeros((len(restricted), node_count), dtype=np.bool_)
    sources = np.array(source, dtype=np.int64)
    for row, number in enumerate(restricted):
        allowed[row, list(targets[int(number)])] = True
    allowed[np.arange(len(restricted)), sources[restricted]] = False
    pairs = np.array(loads, dtype=np.float64).reshape(len(names), 2)
    return CandidateArrays(
        names, sources, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), restricted, allowed
    )


@dataclass(slots=True)
class Pairs:
    """Some (bundle, target) pairs: numbers into the candidates and the nodes."""

    bundle: Ints
    target: Ints

    def __len__(self) -> int:
        return len(self.bundle)

    def take(self, chosen: Ints | Flags) -> "Pairs":
        """Returns the chosen ones."""
        return Pairs(self.bundle[chosen], self.target[chosen])


def all_pairs(nodes: NodeArrays, candidates: CandidateArrays) -> Pairs:
    """Returns every pair, in order of bundle, then target."""
    may = np.ones((len(candidates), len(nodes)), dtype=np.bool_)
    may[np.arange(len(candidates)), candidates.source] = False
    may[candidates.restricted] = candidates.allowed
    bundle, target = np.nonzero(may)
    return Pairs(bundle.astype(np.int64), target.astype(np.int64))
