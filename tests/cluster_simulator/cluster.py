"""A whole cluster in the simulator: hosts with their keepers, and every process as the class that really runs.

Starts, kills, pauses and restarts; supervises as a service manager would; keeps the trace. Knows no fault by itself.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

from events.errors import UserError
from events.ids import use_source
from haes.clock import use_clock
from haes.configuration.cluster import ClusterConfiguration, Intervals, NodeValues
from haes.configuration.resource import check_changes
from haes.live.agent import AgentWorker
from haes.live.manager import ManagerWorker
from haes.live.process import begin_patiently
from haes.live.seen import Seen, SeenFile
from haes.live.worker import Worker
from tests.cluster_simulator.loop import PROCESS, Process, SimulatedLoop
from tests.cluster_simulator.node import Host, SimulatedNode, Truth
from tests.cluster_simulator.server import Link, Server, SimulatedLog
from tests.cluster_simulator.watch import Watch

# Domain time at which a simulation begins.
BEGAN = 1_000_000.0
# Seconds after which a process that ended is started again, at most.
RESTART_DELAY = 3.0


class DiskFile(SeenFile):
    """See SeenFile; on the disk of a simulated host."""

    def __init__(self, host: Host, name: str) -> None:
        self._host, self._name = host, name

    def load(self) -> Seen | None:
        """See SeenFile."""
        return self._host.disk.get(self._name)

    def save(self, seen: Seen) -> None:
        """See SeenFile."""
        self._host.disk[self._name] = seen


@dataclass
class Member:
    """One process of the cluster.

    Attributes:
        name: for example `manager node1`.
        host: where it runs.
        process: it.
        worker: what it runs.
        stop: asks it to leave.
        task: its main task.
        link: its way to the log.
    """

    name: str
    host: Host
    process: Process
    worker: Worker
    stop: asyncio.Event
    link: Link
    task: "asyncio.Task[None] | None" = None


@dataclass
class Cluster:
    """The cluster.

    Attributes:
        seed: decides everything that chance does.
        nodes: names.
        services: resource -> node.
        settings: of the scheduler and the balancer.
        intervals: of all processes.
        pace: how those relate to the usual ones.
        members: process -> it, for those that run.
        down: processes that are not to run for now.
        violations: what must not be.
        trace: what happened, a line each.
    """

    seed: int
    nodes: tuple[str, ...] = ("node1", "node2", "node3")
    services: dict[str, str] = field(
        default_factory=lambda: {
            "vm:1": "node1",
            "vm:2": "node2",
            "vm:3": "node3",
            "process:a": "node1",
            "process:b": "node2",
        }
    )
    settings: dict[str, Any] = field(default_factory=dict)
    intervals: Intervals = field(default_factory=Intervals)
    pace: float = 1.0
    members: dict[str, Member] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Makes loop, server and hosts; nothing runs yet."""
        self.loop = SimulatedLoop(self.seed)
        chance = self.loop.chance
        self.new_id: Callable[[], str] = lambda: f"{chance.getrandbits(64):016x}"
        self.loop.world.context.run(use_source, self.new_id)
        self.server = self.loop.world.context.run(Server, self.loop, "main", BEGAN)
        self.truth = Truth(self.loop)
        self.hosts = {
            node: Host(node, self.loop, self.truth, offset=chance.uniform(10, 1e5), rate=chance.uniform(0.999, 1.001))
            for node in self.nodes
        }
        self.watch = Watch(self)
        self.server.on_append = self.watch.appended
        for host in self.hosts.values():
            host.on_ring = self.watch.rang
        resources = {
            name: check_changes(name, _values(name, node), self.nodes, name) for name, node in self.services.items()
        }
        self.configuration = ClusterConfiguration(
            nodes=dict.fromkeys(self.nodes, NodeValues()),
            resources=resources,
            settings={"crs": dict(self.settings)} if self.settings else {},
            intervals=self.intervals,
        )

    def say(self, what: str, who: str | None = None) -> None:
        """Adds a line to the trace."""
        name = PROCESS.get(self.loop.world).name if who is None else who
        self.trace.append(f"{self.loop.time():12.6f} {name:16s} {what}")

    def wrong(self, what: str) -> None:
        """Notes a violation."""
        self.say(f"VIOLATION {what}", "watch")
        self.violations.append(what)

    def run(self, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs the world until its main coroutine ends."""
        handler = _Traced(self)
        logger = logging.getLogger("haes")
        level, propagate = logger.level, logger.propagate
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            task = self.loop.create_task(main(), context=self.loop.world.context)
            self.loop.run_until_complete(task)
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate
            self.loop.bury()
        self.violations += self.loop.faults

    def start_all(self) -> None:
        """Starts a manager and an agent on every node."""
        for node in self.nodes:
            self.start(f"manager {node}")
            self.start(f"agent {node}")

    def start(self, name: str) -> None:
        """Starts a process, unless it runs, is to stay down, or its host has no power."""
        part, _, node = name.partition(" ")
        host = self.hosts[node]
        if name in self.members or name in self.down or not host.powered:
            return
        process, link = self.process(name, host)
        log = SimulatedLog(link)
        member = process.context.run(self._member, part, name, host, process, link, log)
        self.members[name] = member
        self.say("starts", name)
        member.task = self.loop.create_task(self._main(member, log), context=process.context, name=name)
        member.task.add_done_callback(lambda task: self._ended(member, task), context=self.loop.world.context)

    def process(self, name: str, host: Host | None = None) -> tuple[Process, Link]:
        """Makes a process with a way to the log."""
        process = Process(name)
        process.context.run(use_source, self.new_id)
        if host is not None:
            process.context.run(use_clock, host.boottime)
        return process, Link(self.server)

    def _member(self, part: str, name: str, host: Host, process: Process, link: Link, log: SimulatedLog) -> Member:
        node = host.name
        worker: Worker
        if part == "manager":
            seen = DiskFile(host, "manager.seen")
            worker = ManagerWorker(log, node, self.intervals, f"{node}/crm@{node}:/var", seen)
        else:
            seen = DiskFile(host, "agent.seen")
            live = SimulatedNode(host)
            worker = AgentWorker(log, node, live, self.intervals, f"{node}/lrm@{node}:/var", node, seen)
        return Member(name, host, process, worker, asyncio.Event(), link)

    async def _main(self, member: Member, log: SimulatedLog) -> None:
        if await begin_patiently(log, self.configuration, member.worker.by, member.stop):
            await member.worker.run(member.stop)

    def _ended(self, member: Member, task: "asyncio.Task[None]") -> None:
        if self.members.get(member.name) is member:
            del self.members[member.name]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            if not isinstance(error, UserError):
                self.wrong(f"{member.name} died: {error!r} {_where(error)}")
        elif not member.stop.is_set():
            self.wrong(f"{member.name} ended by itself")
        self.say("ended", member.name)
        self.loop.kill(member.process)
        self.restart_later(member.name)

    def restart_later(self, name: str) -> None:
        """Starts a process again soon, as a service manager does."""
        delay = self.loop.chance.random() * RESTART_DELAY
        self.loop.call_later(delay, self.start, name, context=self.loop.world.context)

    def kill(self, name: str) -> bool:
        """Ends a process without a word."""
        member = self.members.pop(name, None)
        if member is None:
            return False
        self.loop.kill(member.process)
        self.restart_later(name)
        return True

    def leave(self, name: str) -> bool:
        """Asks a process to leave."""
        member = self.members.get(name)
        if member is None:
            return False
        member.stop.set()
        return True

    def power_off(self, node: str) -> None:
        """Takes a host's power away."""
        for name in (f"manager {node}", f"agent {node}"):
            member = self.members.pop(name, None)
            if member is not None:
                self.loop.kill(member.process)
        self.hosts[node].power_off()

    def power_on(self, node: str) -> None:
        """Gives it back."""
        if not self.hosts[node].powered:
            self.hosts[node].power_on()
            for name in (f"manager {node}", f"agent {node}"):
                self.restart_later(name)

    def use(self, **intervals: Any) -> None:
        """Changes intervals in all processes, as a reload does."""
        self.intervals = replace(self.intervals, **intervals)
        for member in self.members.values():
            member.process.context.run(member.worker.use, self.intervals)


def _values(name: str, node: str) -> dict[str, Any]:
    return {"node": node, "command": ["serve", name]} if name.startswith("process:") else {"node": node}


def _where(error: BaseException) -> str:
    """Returns where an error was raised."""
    trace = error.__traceback__
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " > ".join(places[-5:])


class _Traced(logging.Handler):
    """What processes say of themselves, in the trace."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self._cluster = cluster

    def emit(self, record: logging.LogRecord) -> None:
        """See Handler."""
        self._cluster.say(f"{record.levelname.lower()}: {record.getMessage()}")
