"""Runs a simulation again from what its stream recorded, perhaps with other settings; compares nothing."""

from collections.abc import Iterable, Sequence

from events.envelope import Event
from events.errors import UserError
from events.log.memory import MemoryLog
from haes.settings import override
from haes.simulation.run import simulate
from haes.simulation.scenario import Scenario


def recorded_scenario(events: Iterable[Event]) -> Scenario:
    """Returns the inputs of the simulation that wrote a stream.

    Raises:
        UserError: no simulation wrote it.
    """
    for event in events:
        if event.type == "simulation.started":
            return Scenario(**event.payload["scenario"])
    raise UserError("this stream was not written by a simulation, so there are no inputs to run again")


async def run_again(scenario: Scenario, overrides: Sequence[str] = ()) -> list[Event]:
    """Runs a scenario in memory and returns its events.

    Raises:
        UserError: an override is not allowed.
    """
    scenario.settings = {section: dict(values) for section, values in scenario.settings.items()}
    for assignment in overrides:
        override(scenario.settings, assignment)
    events: list[Event] = []
    try:
        await simulate(scenario, MemoryLog("again"), events.append)
    except UserError:
        # A story that could not go on ends with an event that says so; it is a story all the same.
        if not events or events[-1].type != "simulation.aborted":
            raise
    return events
