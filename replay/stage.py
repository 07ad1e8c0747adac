"""A simulated cluster on which the recording of a live one is played, perhaps with other settings; compares nothing."""

from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

from events.log.memory import MemoryLog
from haes.settings import BALANCER_OFF, Settings, override_simulated
from haes.simulation.actions import act, ask
from haes.simulation.run import simulate
from haes.simulation.scenario import Scenario
from haes.simulation.world import World
from replay.again import TELLER, Again, note_imbalance
from replay.recording import Presence, Recording

# Seconds for the cluster to start and come to rest before the recording is played.
WARM_UP = 240.0
# Who hands the recorded commands to the leader.
OPERATORS = "recording"


async def play_again(recording: Recording, overrides: Sequence[str] = ()) -> Again:
    """Plays a recording on a stage of its own, perhaps with other settings; times in the story are the recorded ones.

    The cluster starts and comes to rest with the balancer off; then the settings come into force and the recording
    begins. The balancer has no memory of what was before.

    Args:
        recording: what to play.
        overrides: `KEY=VALUE` for settings, see `settings.override`.

    Raises:
        UserError: an override is not allowed, or the cluster is too large for a simulation.
    """
    changed = deepcopy(dict(recording.settings))
    for assignment in overrides:
        override_simulated(changed, assignment)
    story, player = Again(), _Player(recording, changed)

    def prepare(world: World) -> None:
        world.hardware.kinds |= {name.partition(":")[0] for name in recording.resources}
        world.before_rounds = lambda: player.play(world)
        world.fails = lambda job: recording.fails(job.resource, job.target or "", player.recorded_time(world))
        world.after_rounds = lambda: note_imbalance(world, story)

    await simulate(_stage(recording), MemoryLog("again"), story.events.append, prepare)
    shift = recording.begin - WARM_UP
    # What belongs to the beginning and the end of the simulation is no part of the story.
    story.events = [
        replace(event, at=event.at + shift)
        for event in story.events
        if WARM_UP <= event.at <= WARM_UP + recording.end - recording.begin and event.by != TELLER
    ]
    story.imbalance = {
        at + shift: value
        for at, value in story.imbalance.items()
        if WARM_UP <= at <= WARM_UP + recording.end - recording.begin
    }
    return story


def _stage(recording: Recording) -> Scenario:
    """Returns the cluster as it is when the recording begins, switched off."""
    crs = {**recording.settings.get("crs", {}), "ha-auto-rebalance": BALANCER_OFF, "ha-rebalance-on-start": 0}
    return Scenario(
        name="recording",
        nodes={node: {"power": "off", "network": "off", **values} for node, values in recording.nodes.items()},
        resources=deepcopy(recording.resources),
        steps=[[f"power {node} on" for node in recording.present], [f"delay {_length(recording)}"]],
        settings={**recording.settings, "crs": crs},
        rules=recording.rules,
        limits=deepcopy(recording.limits),
    )


def _length(recording: Recording) -> int:
    return int(WARM_UP + recording.end - recording.begin)


class _Player:
    """Plays a recording into a world, before each round of all nodes."""

    def __init__(self, recording: Recording, settings: Settings) -> None:
        self._recording = recording
        self._settings = settings
        self._begun = False
        self._loads = deque(recording.loads)
        self._asked = deque(recording.asked)
        self._presence = deque(recording.presence)

    def recorded_time(self, world: World) -> float:
        """Returns the time of the recording that the world is at."""
        return self._recording.begin + world.now - WARM_UP

    async def play(self, world: World) -> None:
        """Plays everything that is due. The first loads are there from the start, so that nothing is without any."""
        now = self.recorded_time(world)
        while self._loads and (self._loads[0].at <= now or not world.hardware.loads):
            step = self._loads.popleft()
            world.hardware.loads = {name: {"cpu": cpu, "mem": mem} for name, (cpu, mem) in step.resources.items()}
            for node, other in step.others.items():
                if node in world.hardware.machines:
                    world.hardware.machines[node].other = other
            if not step.resources:
                break
        if world.now < WARM_UP:
            return
        if not self._begun:
            self._begun = True
            batch = world.batch(TELLER)
            batch.emit("settings.changed", "settings", settings=self._settings)
            await world.write(batch)
        while self._presence and self._presence[0].at <= now:
            await _appear(world, self._presence.popleft())
        while self._asked and self._asked[0].at <= now:
            asked = self._asked.popleft()
            batch = world.batch(OPERATORS)
            ask(batch, asked.verb, asked.arguments, asked.user)
            await world.write(batch)


async def _appear(world: World, presence: Presence) -> None:
    machine = world.hardware.machines.get(presence.node)
    if machine is None:
        return
    if not presence.here:
        await act(world, f"network {presence.node} off", TELLER)
    elif not machine.power:
        await act(world, f"power {presence.node} on", TELLER)
    elif not machine.network:
        await act(world, f"network {presence.node} on", TELLER)
