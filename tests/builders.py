"""Builds small clusters in code, runs them in a simulation and keeps what happened, for tests that tell a story."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from events.envelope import Event
from events.log.memory import MemoryLog
from events.log.port import EventLog
from haes.agent.execution import Job
from haes.exit_codes import ERROR
from haes.journal import journal_lines, render_line
from haes.settings import check_settings
from haes.simulation.actions import ask
from haes.simulation.run import simulate
from haes.simulation.scenario import Scenario, check_resource
from haes.simulation.steps import check_step
from haes.simulation.world import AgentSurroundings, Host, World
from haes.state import ClusterState
from haes.state.batch import Batch

GIBIBYTE = 1024**3
# Seconds between two steps of a command list in clusters of up to ten nodes.
STEP = 100
# The balancer's settings in stories: on, learning, with nothing that ends a story early.
BALANCING = {
    "ha": "dynamic",
    "ha-auto-rebalance": 1,
    "ha-auto-rebalance-backoff": "series",
    "ha-auto-rebalance-breaker": 0,
}


@dataclass(slots=True)
class Story:
    """What happened in a simulation.

    Attributes:
        events: all of them, as read back from the log.
        state: the state at the end.
        log: the log.
    """

    events: list[Event]
    state: ClusterState
    log: EventLog

    def of(self, *types: str) -> list[Event]:
        """Returns the events of these types; a type that ends in a dot stands for all that begin with it."""
        return [
            event
            for event in self.events
            if any(event.type == type_ or (type_.endswith(".") and event.type.startswith(type_)) for type_ in types)
        ]

    def motions(self) -> list[tuple[str, str]]:
        """Returns (leader, target) of every motion that the balancer issued."""
        return [(event.payload["leader"], event.payload["target"]) for event in self.of("balance.motion")]

    def outcomes(self) -> list[tuple[str, str, str]]:
        """Returns (outcome, resource, target or reason) of every member of the balancer's motions."""
        return [
            (event.type, event.payload["resource"], event.payload.get("target") or event.payload["reason"])
            for event in self.of("balance.moved", "balance.failed", "balance.dropped")
        ]

    def reasons(self) -> list[str]:
        """Returns why the balancer did nothing, in the order in which the reasons changed."""
        return [event.payload["reason"] for event in self.of("balance.refused")]

    def journal(self) -> list[str]:
        """Returns the journal."""
        return [render_line(line) for event in self.events for line in journal_lines(event)]


def cluster(
    resources: dict[str, dict[str, Any]],
    *,
    nodes: int = 3,
    crs: dict[str, Any] | None = None,
    rules: str = "",
    steps: Iterable[Iterable[str]] = (),
    rounds: int = 0,
    **node_values: Any,
) -> Scenario:
    """Builds a cluster of equal nodes that are switched on in the first step.

    Args:
        resources: name -> configuration; `cpu` and `mem` (GiB) are its load, `node` is 1 or so for node1.
        nodes: how many there are.
        crs: settings of the balancer, besides those of `BALANCING`.
        rules: text of the affinity rules.
        steps: commands of the later steps, one step every `STEP` seconds, the first of them at `STEP`.
        rounds: run for at least so many steps in all, however few have commands.
        node_values: node1={...}: values of that node besides capacity, power and network.
    """
    names = [f"node{number}" for number in range(1, nodes + 1)]
    capacity = {"power": "off", "network": "off", "maxcpu": 24.0, "maxmem": 32 * GIBIBYTE}
    scenario = Scenario(name="story", nodes={name: {**capacity, **node_values.get(name, {})} for name in names})
    for name, given in resources.items():
        values = {"state": "started", **given}
        load = {"cpu": float(values.pop("cpu", 1.0)), "mem": int(values.pop("mem", 4) * GIBIBYTE)}
        values["node"] = f"node{values['node']}"
        scenario.resources[name] = check_resource(Path("story"), name, values, scenario.nodes)
        scenario.limits[name] = {"maxcpu": 24.0, "maxmem": 32 * GIBIBYTE}
        scenario.loads[name] = load
    scenario.settings = check_settings({"crs": {**BALANCING, **(crs or {})}}, "story")
    scenario.rules = rules
    scenario.steps = [[f"power {name} on" for name in names], *(list(step) for step in steps)]
    scenario.steps += [[] for _ in range(rounds - len(scenario.steps))]
    for step in scenario.steps:
        for command in step:
            check_step(command, scenario.nodes, "story")
    return scenario


def together(*resources: str) -> str:
    """Returns a rule that keeps resources on one node."""
    return _rule("together", "positive", resources)


def apart(*resources: str) -> str:
    """Returns a rule that keeps resources on different nodes."""
    return _rule("apart", "negative", resources)


def _rule(name: str, affinity: str, resources: Iterable[str]) -> str:
    return f"resource-affinity: {name}\n\tresources {','.join(resources)}\n\taffinity {affinity}\n\n"


async def tell(
    scenario: Scenario,
    *interferences: Callable[[World], None],
    log: EventLog | None = None,
) -> Story:
    """Runs a scenario and returns what happened.

    Args:
        scenario: the cluster.
        interferences: called with the world before anything happens.
        log: where the events go; a new log in memory when nothing is said.
    """
    log = MemoryLog("story") if log is None else log
    events: list[Event] = []

    def prepare(world: World) -> None:
        for interfere in interferences:
            interfere(world)

    state = await simulate(scenario, log, events.append, prepare)
    return Story(events, state, log)


def motions(
    *, slow: dict[str, float] | None = None, fail: Callable[[str, str, float], bool] = lambda *_: False
) -> Callable[[World], None]:
    """Lets motions take their time or fail.

    Args:
        slow: resource -> moment, seconds, before which its motions do not end.
        fail: called with resource, target and time, says whether this motion fails.
    """
    until = slow or {}

    def interfere(world: World) -> None:
        def run(surroundings: AgentSurroundings, job: Job, batch: Batch) -> int | None:
            if job.state in {"migrate", "relocate"}:
                if world.now < until.get(job.resource, 0):
                    return None
                if fail(job.resource, job.target or "", world.now):
                    batch.emit("job.move_failed", job.resource)
                    return ERROR
            return surroundings.run(job, batch)

        _replace_agents_run(world, run)

    return interfere


def asked(at: float, verb: str, *arguments: str) -> Callable[[World], None]:
    """Lets an operator ask something of the leader at a moment."""

    def interfere(world: World) -> None:
        waiting = [(at, verb, list(arguments))]
        agent_round = world.agent_round

        async def interfered(host: Host) -> bool:
            if waiting and world.now >= waiting[0][0]:
                _, what, words = waiting.pop()
                batch = world.batch("operator")
                ask(batch, what, words)
                await world.write(batch)
            return await agent_round(host)

        world.agent_round = interfered  # type: ignore[method-assign]

    return interfere


def _replace_agents_run(world: World, run: Callable[[AgentSurroundings, Job, Batch], int | None]) -> None:
    """Lets every agent of a world do its jobs in another way."""
    agent_round = world.agent_round

    async def interfered(host: Host) -> bool:
        agent = host.agent
        if agent is not None and not hasattr(agent.queue, "interfered"):
            original = agent.queue.run
            agent.queue.interfered = True
            agent.queue.run = lambda batch, port, view: original(batch, _Port(port, run), view)
        return await agent_round(host)

    world.agent_round = interfered  # type: ignore[method-assign]


class _Port:
    """An agent's surroundings in which jobs are done in another way."""

    def __init__(self, port: Any, run: Callable[[AgentSurroundings, Job, Batch], int | None]) -> None:
        self._port = port
        self._run = run

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def run(self, job: Job, batch: Batch) -> int | None:
        """See AgentPort."""
        return self._run(self._port, job, batch)
