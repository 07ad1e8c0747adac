"""A live cluster in one process whose services are real processes under real keepers; intervals and policies are short."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from events.envelope import Event
from haes.configuration.cluster import ClusterConfiguration, Intervals, NodeValues
from haes.configuration.resource import check_changes
from haes.drivers.process.keeper import clean
from haes.live.agent import AgentWorker
from haes.live.build import build_node
from haes.live.node import LiveNode
from haes.live.seed import seed
from haes.state.cluster import ClusterState
from tests.live.world import LIMIT, World

INTERVALS = Intervals(0.5, 0.1, 5.0, 10.0, 0.1, 5.0, 1000)


@dataclass
class ProcessWorld(World):
    """See World.

    Attributes:
        given: resource -> what its table says.
        ha: settings of the section `ha`.
        lives: node -> what its agent works with.
    """

    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    ha: dict[str, Any] = field(default_factory=dict)
    lives: dict[str, LiveNode] = field(default_factory=dict)

    async def begin(self) -> None:
        """Writes what the cluster begins with."""
        resources = {name: check_changes(name, values, self.nodes, name) for name, values in self.given.items()}
        configuration = ClusterConfiguration(
            nodes=dict.fromkeys(self.nodes, NodeValues()),
            resources=resources,
            settings={"crs": dict(self.settings), "ha": self.ha},
        )
        await seed(self.log, configuration, "test")

    def agent(self, node: str, live: LiveNode | None = None) -> AgentWorker:
        """Starts an agent, on the node as it is left by another one if that is given."""
        folder = self.folder / node
        folder.mkdir(parents=True, exist_ok=True)
        worker: AgentWorker

        def state() -> ClusterState:
            return worker.replica.state

        if live is None:
            live = build_node(folder, node, NodeValues(), state)
        self.lives[node] = live
        worker = AgentWorker(self.log, node, live, INTERVALS, f"{node}/lrm@test", "test")
        self._start(f"agent {node}", worker)
        return worker

    async def all(self) -> None:
        """Starts two managers and an agent on every node; does not wait for services that may never run."""
        await self.begin()
        for node in self.nodes[:2]:
            self.manager(node)
        for node in self.nodes:
            self.agent(node)

    async def end(self) -> None:
        """Ends everything, the services too."""
        try:
            await super().end()
        finally:
            for node in self.nodes:
                await asyncio.to_thread(clean, self.folder / node)

    async def of(self, type_: str) -> list[Event]:
        """Returns the events of one type."""
        return [event for event in await self.events() if event.type == type_]

    async def until_count(self, type_: str, count: int) -> list[Event]:
        """Waits until there are so many events of a type, and returns them."""
        found: list[Event] = []
        try:
            async with asyncio.timeout(LIMIT):
                while len(found := await self.of(type_)) < count:
                    await asyncio.sleep(0.05)
        except TimeoutError:
            shown = [f"{event.at:.1f} {event.by} {event.type} {event.about}" for event in await self.events()]
            raise AssertionError("\n".join([f"not {count} of {type_} within {LIMIT:g} s", *shown[-40:]])) from None
        return found
