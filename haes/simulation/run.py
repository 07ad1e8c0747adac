"""The run of a simulation: who gets a round when, when commands are carried out, when it is over."""

from collections.abc import Callable
from typing import Any

from events.envelope import Event
from events.errors import UserError
from events.log.port import EventLog
from haes.simulation.actions import act, start_agent
from haes.simulation.scenario import Scenario
from haes.simulation.steps import parse_step
from haes.simulation.world import Host, World
from haes.state.cluster import ClusterState
from haes.version import POLICY_VERSION, PROGRAM_VERSION

# Seconds of one loop: twice the number of nodes, at least this.
SHORTEST_LOOP = 20
# A loop must not be as long as a watchdog waits.
LONGEST_LOOP = 60
# Commands are carried out every so many loops.
LOOPS_PER_STEP = 5
# Seconds that a simulation goes on after the last command, and seconds after which it is ended by force.
LAST_SECONDS = 500
LONGEST_SIMULATION = 10_000


async def simulate(
    scenario: Scenario,
    log: EventLog,
    on_event: Callable[[Event], None],
    prepare: Callable[[World], None] | None = None,
) -> ClusterState:
    """Runs a scenario on an empty log and returns the state that it ends in.

    Args:
        scenario: what to run.
        log: where the events go.
        on_event: called with every event, in order, as read back from the log.
        prepare: called with the world before anything happens, for tests that interfere.

    Raises:
        UserError: the log is not empty, or a command cannot be carried out.
    """
    if (await log.head()).n:
        raise UserError(f"cluster '{log.cluster}' has events already; a simulation needs an empty log (--cluster NAME)")
    world = World(scenario, log, on_event)
    if prepare is not None:
        prepare(world)
    await _begin(world)
    error: str | None = None
    try:
        await _Loop(world).run()
    except UserError as problem:
        error = str(problem)
        raise
    finally:
        batch = world.batch("hardware")
        if error is None:
            batch.emit("simulation.ended", "simulation")
        else:
            batch.emit("simulation.aborted", "simulation", error=error)
        await world.write(batch)
        await world.resign_leases()
    return world.state


async def _begin(world: World) -> None:
    """Puts the scenario's inputs on record."""
    scenario = world.scenario
    batch = world.batch("hardware")
    batch.emit("cluster.created", "cluster", about=scenario.name, name=world.log.cluster)
    batch.emit("settings.changed", "settings", settings=scenario.settings)
    if scenario.rules:
        batch.emit("rules.changed", "rules", text=scenario.rules)
    if scenario.groups:
        batch.emit("groups.changed", "groups", text=scenario.groups)
    for node in sorted(scenario.nodes):
        batch.emit("node.added", node)
    for resource, configuration in sorted(scenario.resources.items()):
        batch.emit("resource.configured", resource, about=configuration["node"], changes=configuration)
    if scenario.manager:
        batch.emit("cluster.imported", "cluster", **_imported(scenario))
    batch.emit(
        "simulation.started",
        "simulation",
        about=scenario.name,
        scenario=scenario.to_data(),
        program=PROGRAM_VERSION,
        policy_version=POLICY_VERSION,
    )
    await world.write(batch)


def _imported(scenario: Scenario) -> dict[str, Any]:
    status = scenario.manager
    resources = {}
    for resource, record in status.get("service_status", {}).items():
        resources[resource] = {
            name: record[key]
            for name, key in (
                ("state", "state"),
                ("node", "node"),
                ("target", "target"),
                ("failed_nodes", "failed_nodes"),
                ("maintenance_node", "maintenance_node"),
            )
            if key in record
        }
        resources[resource]["running"] = bool(record.get("running", False))
    requests = status.get("node_request", {})
    return {
        "nodes": status.get("node_status", {}),
        "resources": resources,
        "maintenance": sorted(node for node, request in requests.items() if request.get("maintenance")),
        "disarm": status.get("disarm"),
        "leader": status.get("master_node"),
    }


class _Loop:
    """The loop over all nodes, and the command list beside it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps = [list(step) for step in world.scenario.steps]
        self._skip = {"crm": 0, "lrm": 0}
        self._loops = 0
        self._last_command_at: float = 0
        self._next_step_at: float = 0

    async def run(self) -> None:
        """Runs until the command list is done and has had its effect."""
        world = self._world
        length = max(2 * len(world.hosts), SHORTEST_LOOP)
        if length >= LONGEST_LOOP:
            raise UserError(f"a simulation can have at most {LONGEST_LOOP // 2 - 1} nodes, not {len(world.hosts)}")
        while True:
            begin = world.now
            if world.before_rounds is not None:
                await world.before_rounds()
            await self._all_nodes()
            if world.after_rounds is not None:
                world.after_rounds()
            self._skip = {part: max(0, left - 1) for part, left in self._skip.items()}
            world.now = max(world.now, begin + length)
            if world.now > LONGEST_SIMULATION:
                raise UserError(f"simulation exceeded maximum time ({LONGEST_SIMULATION}) - force end")
            world.synchronise_clocks()
            if world.now < self._next_step_at:
                continue
            if self._loops % LOOPS_PER_STEP == 0 and not await self._step():
                return
            self._loops += 1

    async def _all_nodes(self) -> None:
        world, first = self._world, True
        for host in world.hosts.values():
            if host.manager is not None:
                if self._skip["crm"]:
                    await self._note_skip("crm", first=first)
                elif not await world.manager_round(host):
                    await self._manager_exits(host)
            if host.agent is not None:
                if self._skip["lrm"]:
                    await self._note_skip("lrm", first=first)
                elif not await world.agent_round(host):
                    await self._agent_exits(host)
            await self._fire_watchdogs()
            first = False

    async def _note_skip(self, part: str, *, first: bool) -> None:
        if first:
            batch = self._world.batch("run-loop")
            batch.emit("simulation.round_skipped", "simulation", part=part)
            await self._world.write(batch)

    async def _manager_exits(self, host: Host) -> None:
        world = self._world
        batch = world.batch(f"{host.node}/crm", host.clock("crm"))
        batch.emit("manager.exited", host.node)
        await world.write(batch)
        host.manager = None
        going = world.hardware.machines[host.node].going
        if going == "reboot":
            await act(world, f"power {host.node} off", "reboot")
            await act(world, f"power {host.node} on", "reboot")
        elif going == "shutdown":
            await act(world, f"power {host.node} off", "shutdown")
        host.stopping_manager = False

    async def _agent_exits(self, host: Host) -> None:
        world = self._world
        batch = world.batch(f"{host.node}/lrm", host.clock("lrm"))
        batch.emit("agent.exited", host.node)
        host.agent = None
        if host.restarting_agent:
            host.restarting_agent = False
            start_agent(batch, host)
        await world.write(batch)
        going = world.hardware.machines[host.node].going
        if host.agent is None and going is not None:
            # The agent leaves before the manager, as it does on a real node.
            await act(world, f"crm {host.node} stop", going)

    async def _fire_watchdogs(self) -> None:
        world = self._world
        for node, host in world.hosts.items():
            if world.hardware.watchdog_expired(node, world.now):
                await act(world, f"power {node} off", "watchdog")
                batch = world.batch("hardware")
                batch.emit("simulation.watchdog_fired", node, node=node)
                await world.write(batch)
                host.manager = host.agent = None

    async def _step(self) -> bool:
        """Carries out the next step of the command list; returns False when the simulation is over."""
        world = self._world
        if not self._steps:
            return world.now - self._last_command_at <= LAST_SECONDS
        for command in self._steps.pop(0):
            self._last_command_at = world.now
            parsed = parse_step(command)
            assert parsed is not None  # noqa: S101 - commands are checked before a simulation begins
            name, parts = parsed
            if name in {"delay", "skip-round"}:
                batch = world.batch("cmdlist")
                batch.emit("simulation.command", "simulation", about=command, command=command)
                await world.write(batch)
                if name == "delay":
                    self._next_step_at = world.now + int(parts["seconds"])
                else:
                    self._skip[parts["part"]] += int(parts["rounds"] or 1)
            else:
                await act(world, command, "cmdlist")
        return True
