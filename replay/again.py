"""Runs a simulation again from what its stream recorded, perhaps with other settings; compares nothing."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from events.envelope import Event
from events.errors import UserError
from events.log.memory import MemoryLog
from haes.scheduling.usage import DynamicUsage, UsageProblem
from haes.settings import override_simulated
from haes.simulation.measure import measure
from haes.simulation.run import simulate
from haes.simulation.scenario import Scenario
from haes.simulation.world import World

# Who changes settings in a story that is told otherwise.
TELLER = "whatif"


@dataclass(slots=True)
class Again:
    """A story that was run again.

    Attributes:
        events: its events.
        imbalance: domain time -> how unevenly nodes were really loaded then, 0..1, after every round of all nodes.
    """

    events: list[Event] = field(default_factory=list)
    imbalance: dict[float, float] = field(default_factory=dict)


def recorded_scenario(events: Iterable[Event]) -> Scenario:
    """Returns the inputs of the simulation that wrote a stream.

    Raises:
        UserError: no simulation wrote it.
    """
    for event in events:
        if event.type == "simulation.started":
            return Scenario(**event.payload["scenario"])
    raise UserError("this stream was not written by a simulation, so there are no inputs to run again")


async def run_again(scenario: Scenario, overrides: Sequence[str] = (), since: int = 0) -> Again:
    """Runs a scenario in memory and returns what happened.

    Args:
        scenario: the inputs.
        overrides: `KEY=VALUE` for settings, see `settings.override`.
        since: the number of the event after which these settings come into force; 0 for from the start.

    Raises:
        UserError: an override is not allowed.
    """
    changed = deepcopy(scenario.settings)
    for assignment in overrides:
        override_simulated(changed, assignment)
    story = Again()

    def prepare(world: World) -> None:
        async def change() -> None:
            if world.state.n >= since:
                world.after_write = None
                batch = world.batch(TELLER)
                batch.emit("settings.changed", "settings", about=", ".join(overrides), settings=changed)
                await world.write(batch)

        world.after_rounds = lambda: note_imbalance(world, story)
        if since:
            world.after_write = change
        else:
            world.scenario.settings = changed

    try:
        await simulate(deepcopy(scenario), MemoryLog("again"), story.events.append, prepare)
    except UserError:
        # A story that could not go on ends with an event that says so; it is a story all the same.
        if not story.events or story.events[-1].type != "simulation.aborted":
            raise
    return story


def note_imbalance(world: World, story: Again) -> None:
    """Measures with one yardstick, whatever the scheduler mode looks at: the loads of nodes that are online."""
    loads = measure(world.hardware, world.state)
    nodes = {node: loads.node_loads[node] for node in world.state.online_nodes()}
    try:
        story.imbalance[world.now] = DynamicUsage(nodes, loads.resource_loads).imbalance() if nodes else 0.0
    except UsageProblem:
        # Some node's numbers cannot be reckoned with now; there is no imbalance to speak of.
        return
