"""Samples of load: how they are written, and what a round makes of those of the last so many seconds; pure.

A sample names its node, what the node offers, and what it and each of its services use at that moment. Decisions use
the mean of a window, so that one odd sample moves nothing, and name the last sample in it.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgpack

from events.log.side import SideEntry
from haes.manager.inputs import Loads
from haes.scheduling.stats import NodeStats, ResourceStats
from haes.state.cluster import ClusterState

# The stream beside the log that they lie in.
STREAM = "telemetry"
_MILLI = 1000.0
# What an amount of cores or bytes may be: beyond, a float keeps no whole number exactly.
LARGEST = 2.0**53
# Cores of a node: less would make every load infinite.
_SMALLEST_NODE = 0.001


@dataclass(frozen=True, slots=True)
class Sample:
    """What one agent measured.

    Attributes:
        node: the agent's node.
        maxcpu: cores that the node offers.
        maxmem: bytes of memory that it offers.
        cpu: cores in use.
        mem: bytes in use.
        services: resource -> (cores, bytes) in use.
    """

    node: str
    maxcpu: float
    maxmem: int
    cpu: float
    mem: int
    services: Mapping[str, tuple[float, int]] = field(default_factory=dict)


def encode(sample: Sample) -> dict[str, bytes]:
    """Returns the fields of an entry for a sample."""
    services = [[name, cpu, mem] for name, (cpu, mem) in sorted(sample.services.items())]
    data = msgpack.packb([sample.maxcpu, sample.maxmem, sample.cpu, sample.mem, services])
    return {"node": sample.node.encode(), "data": data}


def decode(entry: SideEntry) -> Sample | None:
    """Returns the sample of an entry, or None when it is not one: odd data must not stop a leader."""
    try:
        maxcpu, maxmem, cpu, mem, services = msgpack.unpackb(entry.fields["data"])
        return Sample(
            entry.fields["node"].decode(),
            _amount(maxcpu, lowest=_SMALLEST_NODE),
            int(_amount(maxmem, lowest=1)),
            _amount(cpu),
            int(_amount(mem)),
            {str(name): (_amount(used), int(_amount(size))) for name, used, size in services},
        )
    except (KeyError, OverflowError, TypeError, ValueError, msgpack.exceptions.UnpackException):
        return None


def _amount(value: Any, lowest: float = 0.0) -> float:
    number = float(value)
    if not lowest <= number <= LARGEST:
        raise ValueError(f"{number} is no amount")
    return number


def taken_at(entry: SideEntry) -> float:
    """Returns when a sample was taken, seconds of the server's clock."""
    return int(entry.id.partition("-")[0]) / _MILLI


class SampleWindow:
    """The samples of the last so many seconds.

    Attributes:
        dropped: entries that were no samples.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, str, Sample]] = deque()
        self.dropped = 0

    def add(self, entry: SideEntry) -> None:
        """Takes an entry into account."""
        sample = decode(entry)
        if sample is None:
            self.dropped += 1
        else:
            self._samples.append((taken_at(entry), entry.id, sample))

    def forget(self, window: float) -> None:
        """Lets go of what is older than so many seconds, counted from the newest sample."""
        if self._samples:
            oldest = self._samples[-1][0] - window
            while self._samples[0][0] < oldest:
                self._samples.popleft()

    def others(self) -> dict[str, tuple[float, int]]:
        """Returns node -> the mean of cores and bytes that are in use by others than its services."""
        found: dict[str, list[tuple[float, int]]] = {}
        for _, _, sample in self._samples:
            cpu = sample.cpu - sum(used for used, _ in sample.services.values())
            mem = sample.mem - sum(size for _, size in sample.services.values())
            found.setdefault(sample.node, []).append((max(0.0, cpu), max(0, mem)))
        return {
            node: (_mean([cpu for cpu, _ in used]), int(_mean([mem for _, mem in used])))
            for node, used in found.items()
        }

    def loads(self, state: ClusterState) -> Loads:
        """Returns the means over the window as a round uses them; what was never measured is left out."""
        nodes: dict[str, list[Sample]] = {}
        services: dict[str, list[tuple[float, int]]] = {}
        for _, _, sample in self._samples:
            nodes.setdefault(sample.node, []).append(sample)
            for name, used in sample.services.items():
                # A service that moved is judged by what it uses, wherever that was measured.
                services.setdefault(name, []).append(used)
        offers = {node: samples[-1] for node, samples in nodes.items()}
        limits = {
            resource: ResourceStats(*_limits(state, resource, offers), *_limits(state, resource, offers))
            for resource in state.configurations
        }
        return Loads(
            capacities={node: NodeStats(last.maxcpu, last.maxmem, 0.0, 0) for node, last in offers.items()},
            limits=limits,
            node_loads={
                node: NodeStats(
                    offers[node].maxcpu,
                    offers[node].maxmem,
                    _mean([sample.cpu for sample in samples]),
                    int(_mean([sample.mem for sample in samples])),
                )
                for node, samples in nodes.items()
            },
            resource_loads={
                resource: ResourceStats(
                    _mean([cpu for cpu, _ in used]),
                    int(_mean([mem for _, mem in used])),
                    *_limits(state, resource, offers),
                )
                for resource, used in services.items()
                if resource in state.configurations
            },
            sample=self._samples[-1][1] if self._samples else None,
            first_sample=self._samples[0][1] if self._samples else None,
        )


def _mean(values: list[float] | list[int]) -> float:
    return sum(values) / len(values)


def _limits(state: ClusterState, resource: str, offers: Mapping[str, Sample]) -> tuple[float, int]:
    """Returns what a resource may use at most: what is configured, else all that its node offers."""
    configuration = state.configurations[resource]
    offer = offers.get(configuration.node)
    cpus = configuration.limits.get("cpus", offer.maxcpu if offer else 1.0)
    memory = configuration.limits.get("memory", offer.maxmem if offer else 1)
    return cpus, memory
