"""What other settings would have done to a live cluster: its recording, played on a stage of its own."""

from collections.abc import Callable
from typing import Any

import pytest

from events.errors import UserError
from events.history import History
from events.log.memory import MemoryLog
from haes.live.telemetry import publish
from haes.simulation.world import World
from haes.telemetry import STREAM, Sample
from replay.recording import Recording, read_recording
from replay.stage import play_again
from replay.whatif import compare_played
from tests.builders import asked, cluster, motions, tell

UNEVEN: dict[str, dict[str, Any]] = {f"vm:{number}": {"node": 1} for number in range(1, 5)}


class _Clock:
    """The time of a log as its events tell it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def _live(*interferences: Callable[[World], None], nodes: int = 2, **crs: Any) -> MemoryLog:
    """Returns the log of a cluster that looks like a live one: samples beside it, no inputs of a simulation on it."""
    samples: list[tuple[float, Sample]] = []

    def measured(world: World) -> None:
        def note() -> None:
            for node, machine in world.hardware.machines.items():
                services = {
                    name: (float(load["cpu"]), int(load["mem"]))
                    for name, load in world.hardware.loads.items()
                    if machine.runs.get(name)
                }
                cpu, mem = (sum(used[part] for used in services.values()) for part in (0, 1))
                capacity = machine.capacity
                sample = Sample(node, capacity["maxcpu"], int(capacity["maxmem"]), float(cpu), int(mem), services)
                samples.append((world.now, sample))

        world.after_rounds = note

    settings = {f"ha-auto-rebalance-{name.replace('_', '-')}": value for name, value in crs.items()}
    story = await tell(cluster(UNEVEN, nodes=nodes, crs=settings, rounds=5), measured, *interferences)
    clock = _Clock()
    log = MemoryLog("live", clock=clock)
    token = await log.acquire("test", "test")
    for event in story.events:
        if event.type.startswith("simulation."):
            continue
        while samples and samples[0][0] <= event.at:
            clock.now, sample = samples.pop(0)
            await publish(log.side, sample)
        clock.now = max(clock.now, event.at)
        await log.append([event], token=token)
    return log


async def _recording(log: MemoryLog, begin: str | None = None) -> Recording:
    return await read_recording(History(log), await log.side.read_all(STREAM), begin)


async def test_a_recording_played_with_its_own_settings_tells_the_same_motions() -> None:
    """Loads and failures are enough for the balancer to issue the same motions, and for the same ones to fail."""
    log = await _live(motions(fail=lambda resource, target, _: (resource, target) == ("vm:1", "node2")))
    recording = await _recording(log)
    assert recording.motions
    assert recording.failed
    played = await play_again(recording)
    compared = compare_played(recording, played, played)
    assert compared.leaves is None, compared.to_text()
    assert compared.comparison.recorded.failed == recording.failed


async def test_other_settings_are_counted_against_it() -> None:
    """Without back-off the failing motion is chosen again and again; over a high threshold nothing is moved at all."""
    log = await _live(
        motions(fail=lambda resource, target, _: (resource, target) == ("vm:1", "node2")), backoff="series"
    )
    recording = await _recording(log)
    recorded = await play_again(recording)
    forgetful = compare_played(
        recording,
        recorded,
        await play_again(recording, ["ha-auto-rebalance-backoff=none", "ha-auto-rebalance-breaker=0"]),
    )
    assert forgetful.comparison.otherwise.failed > 2 * forgetful.comparison.recorded.failed > 0
    idle = compare_played(recording, recorded, await play_again(recording, ["ha-auto-rebalance-threshold=100"]))
    assert idle.comparison.otherwise.motions == 0
    parting = idle.comparison.parting
    assert parting is not None
    assert recording.begin <= parting.at <= recording.end
    assert parting.recorded is not None
    assert parting.recorded.type.startswith("balance.")


async def test_commands_and_lost_nodes_are_played_too() -> None:
    """What operators asked for is asked again at its time, and a node that left is cut off at its time."""

    def cut(world: World) -> None:
        async def off() -> None:
            world.hardware.machines["node3"].network = world.now < 300

        world.before_rounds = off

    log = await _live(asked(150, "migrate", "vm:2", "node2"), cut, nodes=3, threshold=100)
    recording = await _recording(log)
    assert [(item.verb, item.arguments) for item in recording.asked] == [("migrate", ["vm:2", "node2"])]
    assert ("node3", False) in [(item.node, item.here) for item in recording.presence]
    events = (await play_again(recording)).events
    [moved] = [event for event in events if event.type == "job.moved"]
    assert (moved.subject, moved.payload["target"]) == ("vm:2", "node2")
    assert abs(moved.at - 150) < 120
    [lost] = [event for event in events if event.type == "node.unknown"]
    assert lost.subject == "node3"
    assert abs(lost.at - 300) < 60


async def test_a_recording_begins_where_it_is_asked_to() -> None:
    """From a point on only what came after it is played; before the first samples there is nothing to play."""
    log = await _live(asked(150, "migrate", "vm:2", "node2"), threshold=100)
    recording = await _recording(log, "@200")
    assert recording.begin == 200
    assert recording.asked == []
    assert recording.resources["vm:2"]["node"] == "node2"
    with pytest.raises(UserError, match="samples of all nodes go back to"):
        await read_recording(History(log), (await log.side.read_all(STREAM))[8:], "1")
    with pytest.raises(UserError, match="no samples of load"):
        await read_recording(History(log), [], None)


def test_a_motion_fails_as_the_attempt_before_it_did() -> None:
    """Between attempts the last one counts, before the first the first, and what nobody tried succeeds."""
    recording = Recording(0, 100, {}, [], {}, {}, {}, "")
    recording.attempts["vm:1", "node2"] = [(10, False), (20, True), (30, False)]
    assert [recording.fails("vm:1", "node2", at) for at in (0, 10, 15, 20, 29, 30, 99)] == [
        *(True, True, True),
        *(False, False),
        *(True, True),
    ]
    assert not recording.fails("vm:1", "node3", 50)
