"""A plan for a cluster: the best motions now, or all that bring it to balance; knows neither files nor rules.

After each motion only what it changes is updated: two nodes, the bundle's place, and where bundles that keep away from
it may go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from haes.scheduling.arrays import Flags, candidate_arrays, node_arrays
from haes.scheduling.exact import imbalance
from haes.scheduling.motions import Scored, best_motions
from haes.scheduling.start import start_scores
from haes.scheduling.stats import NodeStats

# Motions of one plan at most: each is the best one then, so a plan that needs more will not come to an end.
MOST_MOTIONS = 10_000
# Imbalance that a motion must take away to be worth anything; less is an artefact of the arithmetic.
LEAST_IMPROVEMENT = 1e-9


@dataclass(slots=True)
class Movable:
    """Resources that can only move together, often one alone.

    Attributes:
        members: the resources, sorted; the first one gives the name.
        node: the node that they are on.
        cpu, mem: what they use together, cores and bytes.
        targets: the nodes that they may go to, None for all.
        apart: resources that they must not share a node with. If A keeps away from B, B does so from A.
        must_leave: whether rules forbid them the node that they are on.
    """

    members: tuple[str, ...]
    node: str
    cpu: float
    mem: float
    targets: frozenset[str] | None = None
    apart: frozenset[str] = frozenset()
    must_leave: bool = False


class Plan:
    """Chooses motions for a cluster and, if asked, goes on from the state after each.

    Args:
        nodes: capacity and use of each node.
        movables: what could move, by name, all on one of the nodes.
        places: resource -> node for every resource that somebody keeps away from, whether it can move or not.
    """

    def __init__(self, nodes: Mapping[str, NodeStats], movables: Sequence[Movable], places: Mapping[str, str]) -> None:
        self._nodes = node_arrays(nodes)
        self._movables = movables
        self._places = dict(places)
        self._masks: dict[frozenset[str] | None, Flags] = {}
        number_of = self._nodes.number_of
        restricted = [number for number, item in enumerate(movables) if item.targets is not None or item.apart]
        self._candidates = candidate_arrays(
            [item.members[0] for item in movables],
            [number_of[item.node] for item in movables],
            [(item.cpu, item.mem) for item in movables],
            dict.fromkeys(restricted, ()),
            len(self._nodes),
        )
        self._row_of = {number: row for row, number in enumerate(restricted)}
        for number in restricted:
            self._restrict(number)

    def _restrict(self, number: int) -> None:
        """Works out where a bundle that may not go everywhere may go now."""
        movable = self._movables[number]
        row = self._candidates.allowed[self._row_of[number]]
        row[:] = self._mask(movable.targets)
        row[self._candidates.source[number]] = False
        number_of = self._nodes.number_of
        for other in movable.apart:
            node = number_of.get(self._places.get(other, ""))
            if node is not None:
                row[node] = False

    def _mask(self, targets: frozenset[str] | None) -> Flags:
        mask = self._masks.get(targets)
        if mask is None:
            mask = np.full(len(self._nodes), targets is None)
            number_of = self._nodes.number_of
            mask[[number_of[name] for name in targets or () if name in number_of]] = True
            self._masks[targets] = mask
        return mask

    def imbalance(self) -> float:
        """Returns how unevenly the nodes are loaded now, 0..1."""
        return imbalance(self._nodes)

    def start_scores(self, maxcpu: float, maxmem: float) -> dict[str, float]:
        """Returns a score for starting a resource on each node, 0..1, higher is better.

        Args:
            maxcpu: cores that the resource may use; 0 stands for all that the node has.
            maxmem: bytes that it may use.
        """
        return dict(zip(self._nodes.names, start_scores(self._nodes, maxcpu, maxmem).tolist(), strict=True))

    def best(self, method: str, limit: int) -> list[Scored]:
        """Returns up to `limit` best motions now by bruteforce or topsis, best first."""
        return best_motions(self._nodes, self._candidates, method, limit)

    def until_balanced(self, method: str, threshold: float, margin: float) -> list[Scored]:
        """Makes the motions that bring the cluster under the threshold, each the best after the one before.

        It ends early when the best motion misses the margin, or changes nothing.

        Args:
            method: bruteforce or topsis.
            threshold: imbalance not to exceed, 0..1.
            margin: least relative improvement of a motion, 0..1.
        """
        motions: list[Scored] = []
        number_of = {name: number for number, name in enumerate(self._candidates.names)}
        bundle_of = {member: number for number, item in enumerate(self._movables) for member in item.members}
        now = self.imbalance()
        while now > threshold and len(motions) < MOST_MOTIONS:
            found = self.best(method, 1)
            gain = now - found[0].imbalance if found else 0.0
            if gain <= LEAST_IMPROVEMENT or gain / now < margin:
                break
            self._move(number_of[found[0].resource], found[0].target, bundle_of)
            motions += found
            now = self.imbalance()
        return motions

    def _move(self, number: int, target: str, bundle_of: Mapping[str, int]) -> None:
        nodes, candidates, movable = self._nodes, self._candidates, self._movables[number]
        source, place = int(candidates.source[number]), nodes.number_of[target]
        for used, moved in ((nodes.cpu, candidates.cpu), (nodes.mem, candidates.mem)):
            used[source] = max(0.0, used[source] - moved[number])
            used[place] += moved[number]
        candidates.source[number] = place
        self._places.update(dict.fromkeys(movable.members, target))
        touched = {bundle_of[other] for other in movable.apart if other in bundle_of}
        for changed in touched | {number}:
            if changed in self._row_of:
                self._restrict(changed)
