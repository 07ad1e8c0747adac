"""The cluster's usage as a manager's round sees it, one class for each scheduler mode.

A usage is built for a round: the nodes that are online, then every resource with the nodes that it loads now and soon.
It says how imbalanced the nodes are, which motions are best, and where a start is best.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from events.errors import HaesError
from haes.scheduling import bruteforce, topsis
from haes.scheduling.arrays import NodeArrays, candidate_arrays, node_arrays
from haes.scheduling.exact import imbalance
from haes.scheduling.start import start_scores


@dataclass(slots=True, frozen=True)
class NodeStats:
    """Capacity and use of a node: cpu in cores, memory in bytes."""

    maxcpu: float
    maxmem: float
    cpu: float
    mem: float

    def load(self) -> float:
        """Returns the mean of the cpu share and the memory share."""
        return (self.cpu / self.maxcpu + self.mem / self.maxmem) / 2.0


@dataclass(slots=True, frozen=True)
class ResourceStats:
    """What a resource uses now, and at most: cpu in cores (0 at most: no limit), memory in bytes."""

    cpu: float
    mem: float
    maxcpu: float
    maxmem: float


@dataclass(slots=True, frozen=True)
class Scored:
    """A motion, and the imbalance after it, 0..1."""

    resource: str
    source: str
    target: str
    imbalance: float


@dataclass(slots=True, frozen=True)
class Bundle:
    """Resources that would move together, and where to: the leader is the first by name; targets are sorted."""

    leader: str
    resources: tuple[str, ...]
    targets: tuple[str, ...]


class UsageProblem(HaesError):
    """Loads are not known well enough for what was asked; the message says which."""


METHODS = {"bruteforce": bruteforce.best_motions, "topsis": topsis.best_motions}


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
        resources: what resources use; one that is missing is a problem only when it is asked for.
    """

    mode = ""

    def __init__(self, nodes: Mapping[str, NodeStats], resources: Mapping[str, ResourceStats]) -> None:
        super().__init__(nodes)
        self._given = nodes
        self._resources = resources
        self._arrays: NodeArrays | None = None

    def add(self, resource: str, current: str | None, target: str | None, running: bool) -> str | None:
        """See Usage."""
        if current is None and target is None:
            return None
        if resource not in self._resources:
            return self._unknown(resource)
        self._arrays = None
        return super().add(resource, current, target, running)

    def remove(self, resource: str) -> None:
        """See Usage."""
        self._arrays = None
        super().remove(resource)

    def _unknown(self, resource: str) -> str:
        return f"did not get {self.mode} service usage information for '{resource}'"

    def _stats(self, resource: str) -> ResourceStats:
        stats = self._resources.get(resource)
        if stats is None:
            raise UsageProblem(self._unknown(resource))
        return stats

    @abstractmethod
    def _used(self) -> Mapping[str, NodeStats]:
        """Returns capacity and use of each node as balancing counts them."""

    def _started(self) -> Mapping[str, NodeStats]:
        """Returns capacity and use of each node as a start counts them."""
        return self._used()

    def _node_arrays(self) -> NodeArrays:
        if self._arrays is None:
            self._arrays = node_arrays(self._used())
        return self._arrays

    def node_stats(self) -> dict[str, NodeStats]:
        """See Usage."""
        return dict(self._used())

    def imbalance(self) -> float:
        """See Usage."""
        return imbalance(self._node_arrays())

    def bundle_load(self, resources: Sequence[str]) -> tuple[float, float]:
        """See Usage."""
        stats = [self._stats(resource) for resource in resources]
        return sum(item.cpu for item in stats), sum(item.mem for item in stats)

    def best_motions(self, bundles: Sequence[Bundle], method: str, limit: int) -> list[Scored]:
        """See Usage."""
        nodes = self._node_arrays()
        number_of = {name: number for number, name in enumerate(nodes.names)}
        source, targets = [], {}
        for number, bundle in enumerate(bundles):
            placed = self._placed.get(bundle.leader)
            if placed is None:
                raise UsageProblem(f"leader '{bundle.leader}' is not present in the cluster usage")
            source.append(number_of[placed[0]])
            if len(bundle.targets) < len(nodes) - 1:
                targets[number] = [number_of[name] for name in bundle.targets]
        loads = [self.bundle_load(bundle.resources) for bundle in bundles]
        candidates = candidate_arrays([bundle.leader for bundle in bundles], source, loads, targets, len(nodes))
        pairs, imbalances = METHODS[method](nodes, candidates, limit)
        return [
            Scored(bundles[bundle].leader, nodes.names[source[bundle]], nodes.names[target], float(after))
            for bundle, target, after in zip(pairs.bundle, pairs.target, imbalances, strict=True)
        ]

    def start_scores(self, resource: str) -> dict[str, float]:
        """See Usage."""
        stats = self._stats(resource)
        nodes = node_arrays(self._started())
        scores = start_scores(nodes, stats.maxcpu, stats.maxmem)
        return {name: -float(score) for name, score in zip(nodes.names, scores, strict=True)}

    def _with_limits(self, base: Mapping[str, NodeStats], resources: Iterable[str]) -> dict[str, NodeStats]:
        """Returns the nodes with what resources may use at most added, in order of resource."""
        used = {name: [stats.cpu, stats.mem] for name, stats in base.items()}
        for resource in resources:
            current, target, _running = self._placed[resource]
            stats = self._resources[resource]
            for node in (current, target):
                if node is not None and node in used:
                    # No limit on cpu means all that the node has.
                    used[node][0] += stats.maxcpu or int(base[node].maxcpu)
                    used[node][1] += stats.maxmem
        return {
            name: NodeStats(int(stats.maxcpu), int(stats.maxmem), used[name][0], used[name][1])
            for name, stats in base.items()
        }


class StaticUsage(LoadedUsage):
    """Mode static: nodes carry what their resources may use at most, whether they run or not."""

    mode = "static"

    def _used(self) -> Mapping[str, NodeStats]:
        empty = {name: NodeStats(stats.maxcpu, stats.maxmem, 0.0, 0) for name, stats in self._given.items()}
        return self._with_limits(empty, sorted(self._placed))

    def bundle_load(self, resources: Sequence[str]) -> tuple[float, float]:
        """Returns what resources may use at most together: cpu and memory."""
        stats = [self._stats(resource) for resource in resources]
        return sum(item.maxcpu for item in stats), sum(item.maxmem for item in stats)


class DynamicUsage(LoadedUsage):
    """Mode dynamic: nodes carry what was measured; for a start, resources that do not run yet count, too."""

    mode = "dynamic"

    def _used(self) -> Mapping[str, NodeStats]:
        return self._given

    def _started(self) -> Mapping[str, NodeStats]:
        starting = sorted(resource for resource, placed in self._placed.items() if not placed[2])
        return self._with_limits(self._given, starting)
