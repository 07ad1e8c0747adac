"""A live cluster in one process: real workers on a log in memory, nodes whose services pretend to run."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from events.envelope import Event
from events.log.memory import MemoryLog
from events.log.port import EventLog
from haes.configuration.cluster import ClusterConfiguration, Intervals, NodeValues
from haes.configuration.resource import check_changes
from haes.live.agent import AgentWorker
from haes.live.manager import ManagerWorker
from haes.live.outcome import CommandWatch, Outcome, follow_command
from haes.live.pretend import PretendNode
from haes.live.replica import Replica
from haes.live.requests import send_request
from haes.live.seed import seed
from haes.live.worker import Worker
from haes.state.cluster import ClusterState
from haes.state.fold import fold

# Seconds of everything: as short as a busy machine allows.
INTERVALS = Intervals(0.3, 0.2, 0.6, 1.0, 0.1, 0.2, 1000)
LIMIT = 20.0
# Commands that tests follow to their effect; of the others they want the answer, and look for the effect themselves.
MOTIONS = frozenset({"migrate", "relocate", "stop"})


@dataclass
class World:
    """The cluster and its processes.

    Attributes:
        folder: where nodes keep what is theirs.
        services: resource -> node.
        log: the log.
        stops: process -> what asks it to leave.
        tasks: process -> its task.
    """

    folder: Path
    services: dict[str, str]
    nodes: tuple[str, ...] = ("node1", "node2", "node3")
    settings: dict[str, object] = field(default_factory=dict)
    log: EventLog = field(default_factory=lambda: MemoryLog("main"))
    stops: dict[str, asyncio.Event] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def begin(self) -> None:
        """Writes what the cluster begins with."""
        resources = {
            name: check_changes(name, {"node": node}, self.nodes, name) for name, node in self.services.items()
        }
        configuration = ClusterConfiguration(
            nodes=dict.fromkeys(self.nodes, NodeValues()), resources=resources, settings={"crs": dict(self.settings)}
        )
        await seed(self.log, configuration, "test")

    def manager(self, node: str) -> ManagerWorker:
        """Starts a manager."""
        worker = ManagerWorker(self.log, node, INTERVALS, f"{node}/crm@test")
        self._start(f"manager {node}", worker)
        return worker

    def agent(self, node: str) -> AgentWorker:
        """Starts an agent."""
        live = PretendNode(self.folder / f"{node}.json", node)
        worker = AgentWorker(self.log, node, live, INTERVALS, f"{node}/lrm@test", "test")
        self._start(f"agent {node}", worker)
        return worker

    def _start(self, name: str, worker: Worker) -> None:
        self.stops[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(worker.run(self.stops[name]), name=name)

    async def all(self) -> None:
        """Starts two managers and an agent on every node, and waits until everything runs."""
        await self.begin()
        for node in self.nodes[:2]:
            self.manager(node)
        for node in self.nodes:
            self.agent(node)
        await self.until(self.at_rest, "everything runs")

    async def end(self) -> None:
        """Ends everything; an error that ended a process before is raised."""
        for task in self.tasks.values():
            if not task.done():
                task.cancel()
        for result in await asyncio.gather(*self.tasks.values(), return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result

    async def kill(self, name: str) -> None:
        """Ends a process without a word."""
        task = self.tasks.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def leave(self, name: str) -> None:
        """Asks a process to leave, and waits until it has."""
        self.stops[name].set()
        await asyncio.wait_for(self.tasks.pop(name), LIMIT)

    async def events(self) -> list[Event]:
        """Returns the whole stream."""
        return [event async for event in self.log.read_all(lenient=True)]

    async def state(self) -> ClusterState:
        """Returns what the stream leads to."""
        return fold(await self.events())

    def at_rest(self, state: ClusterState) -> bool:
        """Returns whether every service that is to run does."""
        wanted = [name for name, item in state.configurations.items() if item.state == "started"]
        return all(name in state.resources and state.resources[name].running for name in wanted)

    async def until(self, holds: Callable[[ClusterState], bool], what: str) -> ClusterState:
        """Waits until the state is as it must be."""
        state = ClusterState()
        try:
            async with asyncio.timeout(LIMIT):
                while not holds(state := await self.state()):
                    for task in self.tasks.values():
                        if task.done():
                            task.result()
                    await asyncio.sleep(0.02)
        except TimeoutError:
            shown = "\n".join(
                f"{event.n} {event.by} {event.type} {event.subject} {event.about}" for event in await self.events()
            )
            raise AssertionError(f"not within {LIMIT:g} s: {what}\n{shown}") from None
        return state

    async def command(self, verb: str, *arguments: str, user: str = "eve") -> Outcome:
        """Asks the leader for something and waits for its outcome."""
        replica = Replica(self.log)
        await replica.open()
        watch = CommandWatch(user, await send_request(self.log.side, user, verb, arguments), steady=0)
        replica.on_event = watch.see
        outcome = await follow_command(replica, watch, LIMIT, to_the_end=verb in MOTIONS)
        assert outcome is not None, f"no outcome of {verb} {arguments}"
        return outcome
