"""A simulated cluster in motion: processes on machines, the shared log, and how each round reaches both."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from events.codec import decode_entry
from events.envelope import Event
from events.log.port import EventLog, Token
from haes.agent.execution import Job, execute
from haes.agent.process import AgentProcess
from haes.drivers.simulated import SimulatedDriver
from haes.exit_codes import ERROR
from haes.machines.resource import MOVING
from haes.manager.inputs import Claim, RoundInputs
from haes.manager.process import LOCK, ManagerProcess
from haes.simulation.hardware import Hardware, Machine
from haes.simulation.measure import measure
from haes.simulation.scenario import Scenario
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event

LEADER_LEASE = "leader"
WORLD_LEASE = "simulation"


@dataclass(slots=True)
class Host:
    """One node's processes; None where a process does not run.

    Attributes:
        restarting_agent: the agent leaves in order to be started again.
        stopping_manager: the manager leaves because it was told to.
        clocks: part (crm, lrm) -> its own time, which lags behind the world's until its next round.
    """

    node: str
    manager: ManagerProcess | None = None
    agent: AgentProcess | None = None
    restarting_agent: bool = False
    stopping_manager: bool = False
    manager_watchdog: int | None = None
    agent_watchdog: int | None = None
    clocks: dict[str, float] = field(default_factory=lambda: {"crm": 0.0, "lrm": 0.0})

    def clock(self, part: str) -> float:
        """Returns a part's own time."""
        return self.clocks[part]


class World:
    """The simulated cluster.

    Attributes:
        now: the world's time, seconds.
        state: the fold of the log.
        hosts: node -> processes.
        on_event: called with every event as it was read back from the log.
    """

    def __init__(self, scenario: Scenario, log: EventLog, on_event: Callable[[Event], None]) -> None:
        self.scenario = scenario
        self.log = log
        self.on_event = on_event
        self.now: float = 0
        self.hardware = Hardware(scenario)
        self.state = ClusterState()
        self.hosts = {node: Host(node) for node in self.hardware.machines}
        # Called after every append; tests use it to throw a manager's state away and rebuild it.
        self.rebuild: Callable[[], None] | None = None
        # Called after every append, and when every node had its rounds; for whoever runs a story again otherwise.
        self.after_write: Callable[[], Awaitable[None]] | None = None
        self.after_rounds: Callable[[], None] | None = None
        # Called before every node has its rounds, and for every motion, to say whether it fails; for whoever plays
        # something into the story that no command list can say.
        self.before_rounds: Callable[[], Awaitable[None]] | None = None
        self.fails: Callable[[Job], bool] | None = None
        self._tokens: dict[str, Token] = {}

    def batch(self, by: str, at: float | None = None, *, late: bool = False) -> Batch:
        """Begins a batch on a working copy of the state."""
        return Batch(self.state.working_copy(), by, self.now if at is None else at, late=late)

    async def write(self, batch: Batch, lease: str = WORLD_LEASE) -> None:
        """Appends a batch, then applies to the state what the log gives back."""
        if not batch.events:
            return
        token = self._tokens.get(lease)
        if token is None:
            token = self._tokens[lease] = await self.log.acquire(lease, batch.by, seize=True)
        await self.log.append(batch.events, token=token, expect=batch.expected_versions(self.state))
        for event in await self._read_back(len(batch.events)):
            apply_event(self.state, event)
            self.on_event(event)
        if self.rebuild is not None:
            self.rebuild()
        if self.after_write is not None:
            await self.after_write()

    async def _read_back(self, count: int) -> list[Event]:
        async for chunk in self.log.raw_chunks(self.state.n, count=count):
            return [decode_entry(entry_id, flat) for entry_id, flat in chunk]
        return []

    async def manager_round(self, host: Host) -> bool:
        """Lets a node's manager do one round; returns False when it exits."""
        manager = host.manager
        assert manager is not None  # noqa: S101 - the caller has looked
        now = host.clocks["crm"] = self.now
        batch = self.batch(f"{host.node}/crm", now, late=not self.hardware.is_quorate(host.node))
        port = _ManagerPort(self, host)
        led_before = manager.leader is not None
        goes_on = manager.round(batch, port, lambda: self._inputs(manager, batch.state or self.state))
        leads = manager.leader is not None
        if leads and not led_before:
            # The lock was won in this very round: whoever held the lease before is fenced from here on.
            self._tokens[LEADER_LEASE] = await self.log.acquire(LEADER_LEASE, batch.by, seize=True)
        await self.write(batch, LEADER_LEASE if (leads or led_before) and not batch.late else f"manager/{host.node}")
        host.clocks["crm"] = now + 1
        self.now = max(self.now, now + 1)
        return goes_on

    def _inputs(self, manager: ManagerProcess, state: ClusterState) -> RoundInputs:
        online, quorate = self.hardware.quorum()
        leader = manager.leader
        driver = SimulatedDriver(manager.node, self.hardware, state)
        return RoundInputs(
            at=self.now,
            node=manager.node,
            online=online,
            quorate=quorate,
            claim_agent=lambda node: self.hardware.claim(f"ha_agent_{node}_lock", manager.node, self.now),
            loads=lambda: measure(self.hardware, state),
            versions={node: machine.version for node, machine in self.hardware.machines.items()},
            previous_round_at=None if leader is None else leader.previous_round_at,
            streak=0 if leader is None else leader.streak,
            preflight=driver.preflight,
        )

    async def agent_round(self, host: Host) -> bool:
        """Lets a node's agent do one round; returns False when it exits."""
        assert host.agent is not None  # noqa: S101 - the caller has looked
        now = host.clocks["lrm"] = self.now
        batch = self.batch(f"{host.node}/lrm", now, late=not self.hardware.is_quorate(host.node))
        goes_on = host.agent.round(batch, AgentSurroundings(self, host, batch.state or self.state))
        await self.write(batch, f"agent/{host.node}")
        host.clocks["lrm"] = now + 1
        self.now = max(self.now, now + 1)
        return goes_on

    def synchronise_clocks(self) -> None:
        """Sets every process's time to the world's."""
        for host in self.hosts.values():
            host.clocks = dict.fromkeys(("crm", "lrm"), self.now)

    async def resign_leases(self) -> None:
        """Gives back the leases that the simulation holds."""
        for token in self._tokens.values():
            await self.log.release(token)


class _Surroundings:
    """What both kinds of processes see of their machine."""

    def __init__(self, world: World, host: Host) -> None:
        self._world = world
        self._host = host
        machine = world.hardware.machines[host.node]
        self.quorate = world.hardware.is_quorate(host.node)
        self.consistent = machine.store_is_current
        self.readable = machine.can_use_store

    @property
    def _machine(self) -> Machine:
        return self._world.hardware.machines[self._host.node]

    def _feed(self, handle: int | None) -> int:
        hardware, now = self._world.hardware, self._world.now
        if handle is None or handle not in self._machine.watchdogs:
            return hardware.open_watchdog(self._host.node, now)
        self._machine.watchdogs[handle] = now
        return handle


class _ManagerPort(_Surroundings):
    """See ManagerPort."""

    def claim_lock(self) -> Claim:
        return self._world.hardware.claim(LOCK, self._host.node, self._world.now)

    def release_lock(self) -> bool:
        return self._world.hardware.release(LOCK, self._host.node, self._world.now)

    def feed_watchdog(self) -> None:
        self._host.manager_watchdog = self._feed(self._host.manager_watchdog)

    def close_watchdog(self) -> None:
        self._machine.watchdogs.pop(self._host.manager_watchdog or 0, None)
        self._host.manager_watchdog = None


class AgentSurroundings(_Surroundings):
    """See AgentPort."""

    def __init__(self, world: World, host: Host, state: ClusterState) -> None:
        super().__init__(world, host)
        self._state = state
        self._driver = SimulatedDriver(host.node, world.hardware, state)
        self._lock = f"ha_agent_{host.node}_lock"

    def claim_lock(self) -> Claim:
        """See AgentPort."""
        return self._world.hardware.claim(self._lock, self._host.node, self._world.now)

    def release_lock(self) -> None:
        """See AgentPort."""
        self._world.hardware.release(self._lock, self._host.node, self._world.now)

    def feed_watchdog(self) -> None:
        """See AgentPort."""
        self._host.agent_watchdog = self._feed(self._host.agent_watchdog)

    def close_watchdog(self) -> None:
        """See AgentPort."""
        self._machine.watchdogs.pop(self._host.agent_watchdog or 0, None)
        self._host.agent_watchdog = None

    def run(self, job: Job, batch: Batch) -> int:
        """Does a job at once: simulated work takes no time of its own."""
        cause = f"job/{job.resource}/{job.number}"

        def emit(type_: str, **payload: Any) -> None:
            batch.emit(type_, job.resource, cause=cause, **payload)

        if job.state in MOVING and self._world.fails is not None and self._world.fails(job):
            emit("job.move_failed")
            return ERROR
        configuration = self._state.configurations.get(job.resource)
        return execute(job, configuration, self._host.node, self._driver, emit)
