"""What resources may use at most, summed by node and kept current as they come and go; knows no scheduler mode.

Only the nodes that changed are added up anew, each over its resources in order of name, so the sums do not depend on
the order in which resources came, to the last bit.
"""

from collections.abc import Iterable, Mapping

from haes.scheduling.arrays import NodeArrays, node_arrays
from haes.scheduling.stats import NodeStats, ResourceStats


class Tally:
    """Nodes with a base use, and what resources on them may use at most added to it.

    Args:
        base: capacity and use of each node before any resource is added; capacities count whole units.
        resources: what resources use.
    """

    def __init__(self, base: Mapping[str, NodeStats], resources: Mapping[str, ResourceStats]) -> None:
        self._base = base
        self._resources = resources
        self._on: dict[str, set[str]] = {node: set() for node in base}
        self._changed: set[str] = set()
        self._stats = {
            node: NodeStats(int(stats.maxcpu), int(stats.maxmem), stats.cpu, stats.mem) for node, stats in base.items()
        }
        self._arrays: NodeArrays | None = None

    def put(self, resource: str, node: str | None) -> None:
        """Counts a resource on a node; nodes that are not counted are passed over."""
        there = self._on.get(node) if node is not None else None
        if there is not None and node is not None:
            there.add(resource)
            self._changed.add(node)

    def take(self, resource: str, nodes: Iterable[str | None]) -> None:
        """Counts a resource on these nodes no more."""
        for node in nodes:
            there = self._on.get(node) if node is not None else None
            if there is not None and node is not None:
                there.discard(resource)
                self._changed.add(node)

    def stats(self) -> dict[str, NodeStats]:
        """Returns capacity and use of each node."""
        self._refresh()
        return self._stats

    def arrays(self) -> NodeArrays:
        """Returns the nodes as arrays; they stay valid until the next change."""
        self._refresh()
        if self._arrays is None:
            self._arrays = node_arrays(self._stats)
        return self._arrays

    def _refresh(self) -> None:
        """Adds up the nodes that changed."""
        for node in self._changed:
            base = self._base[node]
            cpu, mem = base.cpu, base.mem
            cores = int(base.maxcpu)
            for resource in sorted(self._on[node]):
                used = self._resources[resource]
                # No limit on cpu means all that the node has.
                cpu += used.maxcpu or cores
                mem += used.maxmem
            self._stats[node] = NodeStats(cores, int(base.maxmem), cpu, mem)
            if self._arrays is not None:
                number = self._arrays.number_of[node]
                self._arrays.cpu[number], self._arrays.mem[number] = cpu, mem
        self._changed.clear()
