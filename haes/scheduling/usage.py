"""The cluster's usage as a manager's round sees it, one class for each scheduler mode.

A usage is built for a round: the nodes that are online, then every resource with the nodes that it loads now and soon.
It says how imbalanced the nodes are, which motions are best, and where a start is best.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from events.errors import HaesError
from haes.scheduling.arrays import NodeArrays, candidate_arrays, node_arrays
from haes.scheduling.exact import imbalance
from haes.scheduling.motions import METHODS, Scored, best_motions
from haes.scheduling.start import start_scores
from haes.scheduling.stats import NodeStats, ResourceStats
from haes.scheduling.tally import Tally

__all__ = [
    "METHODS",
    "BasicUsage",
    "Bundle",
    "DynamicUsage",
    "NodeStats",
    "ResourceStats",
    "Scored",
    "StaticUsage",
    "Usage",
    "UsageProblem",
]


@dataclass(slots=True, frozen=True)
class Bundle:
    """Resources that would move together, and where to: the leader is the first by name; targets are sorted."""

    leader: str
    resources: tuple[str, ...]
    targets: tuple[str, ...]


class UsageProblem(HaesError):
    """Loads are not known well enough for what was asked; the message says which."""


class Usage(ABC):
    """What all modes have in common.

    Args:
        nodes: the nodes that are online.
    """

    def __init__(self, nodes: Iterable[str]) -> None:
        self._nodes = tuple(sorted(nodes))
        # resource -> (node it loads now, node it will load soon or None, whether it runs)
        self._placed: dict[str, tuple[str, str | None, bool]] = {}

    def nodes(self) -> tuple[str, ...]:
        """Returns the nodes, by name."""
        return self._nodes

    def add(self, resource: str, current: str | None, target: str | None, running: bool) -> str | None:
        """Adds a resource's load; returns what speaks against it, or None.

        One that loads no node is left out; one with a target alone counts as being there.
        """
        if current is not None:
            self._placed[resource] = (current, target, running)
        elif target is not None:
            self._placed[resource] = (target, None, running)
        return None

    def remove(self, resource: str) -> None:
        """Removes a resource's load; nothing happens when it has none."""
        self._placed.pop(resource, None)

    def imbalance(self) -> float:
        """Returns how unevenly the nodes are loaded, 0..1."""
        return 0.0

    def node_stats(self) -> dict[str, NodeStats]:
        """Returns capacity and use of each node, empty where the mode knows no loads."""
        return {}

    def bundle_load(self, resources: Sequence[str]) -> tuple[float, float]:
        """Returns what resources use together, as balancing counts it: cpu and memory.

        Raises:
            UsageProblem: the load of one is not known.
        """
        raise UsageProblem(f"the loads of {', '.join(resources)} are not known in this mode")

    def best_motions(self, bundles: Sequence[Bundle], method: str, limit: int) -> list[Scored]:  # noqa: ARG002 - a port
        """Returns up to `limit` best motions, best first.

        Args:
            bundles: what could move where, by leader.
            method: bruteforce or topsis.
            limit: how many.

        Raises:
            UsageProblem: a bundle's load or place is not known.
        """
        return []

    @abstractmethod
    def start_scores(self, resource: str) -> dict[str, float]:
        """Returns a score for starting the resource on each node; lower is better.

        Raises:
            UsageProblem: what the resource needs is not known.
        """


class BasicUsage(Usage):
    """Mode basic: every resource counts one."""

    def start_scores(self, resource: str) -> dict[str, float]:  # noqa: ARG002 - any resource counts one
        """Returns the number of resources on each node."""
        counts = dict.fromkeys(self._nodes, 0.0)
        for current, target, _running in self._placed.values():
            for node in (current, target):
                if node is not None and node in counts:
                    counts[node] += 1
        return counts


class LoadedUsage(Usage):
    """What the modes with loads have in common.

    Args:
        nodes: capacity and use of the nodes that are online.
        resources: what resources use; one that is missing, or has numbers that cannot be reckoned with, is a problem
            only when it is asked for.

    Raises:
        UsageProblem: a node has no capacity, or a number that cannot be reckoned with.
    """

    mode = ""

    def __init__(self, nodes: Mapping[str, NodeStats], resources: Mapping[str, ResourceStats]) -> None:
        super().__init__(nodes)
        for name in self._nodes:
            wrong = nodes[name].problem()
            if wrong is not None:
                raise UsageProblem(
                    f"{self.mode} node usage information for '{name}' has {wrong} {getattr(nodes[name], wrong)}"
                )
        self._resources = resources
        self._tally = Tally(self._base(nodes), resources)

    def _base(self, nodes: Mapping[str, NodeStats]) -> Mapping[str, NodeStats]:
        """Returns what nodes use without the resources that are counted at their limits."""
        return nodes

    def _counts(self, running: bool) -> bool:
        """Returns whether the limits of a resource are counted on its nodes, given whether it runs."""
        raise NotImplementedError

    def add(self, resource: str, current: str | None, target: str | None, running: bool) -> str | None:
        """See Usage."""
        if current is None and target is None:
            return None
        stats = self._resources.get(resource)
        if stats is None:
            return self._unknown(resource)
        wrong = stats.problem()
        if wrong is not None:
            return self._wrong(resource, wrong)
        if resource in self._placed:
            self.remove(resource)
        super().add(resource, current, target, running)
        if self._counts(running):
            self._tally.put(resource, current)
            self._tally.put(resource, target)
        return None

    def remove(self, resource: str) -> None:
        """See Usage."""
        placed = self._placed.pop(resource, None)
        if placed is not None and self._counts(placed[2]):
            self._tally.take(resource, placed[:2])

    def _unknown(self, resource: str) -> str:
        return f"did not get {self.mode} service usage information for '{resource}'"

    def _wrong(self, resource: str, key: str) -> str:
        value = getattr(self._resources[resource], key)
        return f"{self.mode} service usage information for '{resource}' has {key} {value}"

    def _stats(self, resource: str) -> ResourceStats:
        stats = self._resources.get(resource)
        if stats is None:
            raise UsageProblem(self._unknown(resource))
        return stats

    def _is_reckonable(self, bundle: Bundle) -> bool:
        """Returns whether the numbers of all resources of a bundle can be reckoned with."""
        return all(self._stats(resource).problem() is None for resource in bundle.resources)

    def _moves(self, stats: ResourceStats) -> tuple[float, float]:
        """Returns what a resource takes with it when it moves: cpu and memory."""
        return stats.cpu, stats.mem

    def _node_arrays(self) -> NodeArrays:
        """Returns the nodes as balancing counts them."""
        return self._tally.arrays()

    def node_stats(self) -> dict[str, NodeStats]:
        """See Usage."""
        return dict(self._tally.stats())

    def imbalance(self) -> float:
        """See Usage."""
        return imbalance(self._node_arrays())

    def bundle_load(self, resources: Sequence[str]) -> tuple[float, float]:
        """See Usage."""
        if len(resources) == 1:
            return self._moves(self._stats(resources[0]))
        loads = [self._moves(self._stats(resource)) for resource in resources]
        return sum(cpu for cpu, _mem in loads), sum(mem for _cpu, mem in loads)

    def best_motions(self, bundles: Sequence[Bundle], method: str, limit: int) -> list[Scored]:
        """See Usage. Bundles with numbers that cannot be reckoned with are left out; adding them has named them."""
        bundles = [bundle for bundle in bundles if self._is_reckonable(bundle)]
        nodes = self._node_arrays()
        source, targets = [], {}
        for number, bundle in enumerate(bundles):
            placed = self._placed.get(bundle.leader)
            if placed is None or placed[0] not in nodes.number_of:
                raise UsageProblem(f"leader '{bundle.leader}' is not present in the cluster usage")
            source.append(nodes.number_of[placed[0]])
            if len(bundle.targets) < len(nodes) - 1:
                targets[number] = [nodes.number_of[name] for name in bundle.targets]
        loads = [self.bundle_load(bundle.resources) for bundle in bundles]
        candidates = candidate_arrays([bundle.leader for bundle in bundles], source, loads, targets, len(nodes))
        return best_motions(nodes, candidates, method, limit)

    def start_scores(self, resource: str) -> dict[str, float]:
        """See Usage."""
        stats = self._stats(resource)
        wrong = stats.problem()
        if wrong is not None:
            raise UsageProblem(self._wrong(resource, wrong))
        nodes = self._tally.arrays()
        scores = start_scores(nodes, stats.maxcpu, stats.maxmem)
        return {name: -score for name, score in zip(nodes.names, scores.tolist(), strict=True)}


class StaticUsage(LoadedUsage):
    """Mode static: nodes carry what their resources may use at most, whether they run or not."""

    mode = "static"

    def _base(self, nodes: Mapping[str, NodeStats]) -> Mapping[str, NodeStats]:
        return {name: NodeStats(stats.maxcpu, stats.maxmem, 0.0, 0) for name, stats in nodes.items()}

    def _counts(self, running: bool) -> bool:  # noqa: ARG002 - all are counted
        return True

    def _moves(self, stats: ResourceStats) -> tuple[float, float]:
        return stats.maxcpu, stats.maxmem


class DynamicUsage(LoadedUsage):
    """Mode dynamic: nodes carry what was measured; for a start, resources that do not run yet count, too."""

    mode = "dynamic"

    def __init__(self, nodes: Mapping[str, NodeStats], resources: Mapping[str, ResourceStats]) -> None:
        super().__init__(nodes, resources)
        self._measured = nodes
        self._arrays: NodeArrays | None = None

    def _counts(self, running: bool) -> bool:
        return not running

    def _node_arrays(self) -> NodeArrays:
        if self._arrays is None:
            self._arrays = node_arrays(self._measured)
        return self._arrays

    def node_stats(self) -> dict[str, NodeStats]:
        """See Usage."""
        return dict(self._measured)
