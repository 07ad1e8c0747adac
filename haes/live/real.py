"""A node as it is: processes under their keeper, and beside them what only pretends to run. Knows no cluster."""

from collections.abc import Collection, Sequence

from events.log.port import Right, Token
from haes.configuration.cluster import NodeValues
from haes.drivers.by_kind import DriverByKind
from haes.drivers.port import ServiceEnd
from haes.drivers.process.load import machine_load, machine_size
from haes.drivers.process.node import ProcessNode
from haes.live.pretend import PretendNode
from haes.telemetry import Sample


class RealNode:
    """See LiveNode."""

    def __init__(self, node: str, processes: ProcessNode, pretended: PretendNode, values: NodeValues) -> None:
        self._node = node
        self._processes = processes
        self._pretended = pretended
        self._values = values
        self._driver = DriverByKind([processes, pretended])

    @property
    def driver(self) -> DriverByKind:
        """See LiveNode."""
        return self._driver

    def use(self, token: Token) -> None:
        """See LiveNode."""
        self._processes.use(token)
        self._pretended.use(token)

    def newest(self) -> Right:
        """See LiveNode."""
        return max(self._processes.newest(), self._pretended.newest())

    def feed(self, deadline: float) -> None:
        """See LiveNode."""
        self._processes.feed(deadline)
        self._pretended.feed(deadline)

    def disarm(self) -> None:
        """See LiveNode."""
        self._processes.disarm()
        self._pretended.disarm()

    def fired(self) -> tuple[str, ...] | None:
        """See LiveNode."""
        fired = [self._processes.fired(), self._pretended.fired()]
        if fired == [None, None]:
            return None
        return tuple(sorted(name for part in fired if part is not None for name in part))

    def kill(self, resources: Collection[str]) -> None:
        """See LiveNode."""
        self._processes.kill([name for name in resources if name.partition(":")[0] in self._processes.kinds])
        self._pretended.kill([name for name in resources if name.partition(":")[0] in self._pretended.kinds])

    def services(self) -> dict[str, bool]:
        """See LiveNode."""
        return {**self._processes.services(), **self._pretended.services()}

    def ends(self) -> Sequence[ServiceEnd]:
        """See LiveNode."""
        return (*self._processes.ends(), *self._pretended.ends())

    def forget_ends(self, runs: Collection[str]) -> None:
        """See LiveNode."""
        self._processes.forget_ends(runs)
        self._pretended.forget_ends(runs)

    def said(self, resource: str, lines: int, after: str) -> tuple[list[str], str]:
        """See LiveNode."""
        known = resource.partition(":")[0] in self._processes.kinds
        return (self._processes if known else self._pretended).said(resource, lines, after)

    def check(self) -> None:
        """See LiveNode."""
        self._processes.check()

    def measure(self) -> Sample:
        """See LiveNode: a node whose size is configured is as loaded as its services, others as the whole machine."""
        services = {**self._processes.loads(), **self._pretended.measure().services}
        size = machine_size()
        maxcpu, maxmem = self._values.cpus or size[0], self._values.memory or size[1]
        cpu, memory = machine_load()
        if self._values.cpus is not None:
            cpu = sum(used for used, _ in services.values())
        if self._values.memory is not None:
            memory = sum(used for _, used in services.values())
        return Sample(self._node, maxcpu, maxmem, cpu, memory, services)

    def close(self) -> None:
        """See LiveNode."""
        self._processes.close()
        self._pretended.close()
