"""A long stream such as a live cluster writes: both folds agree all along, and the state stays small."""

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from benchmarks.stream import Life
from events.codec import FIELDS, encode_fields
from events.envelope import Event
from events.history import History
from events.log.memory import MemoryLog
from events.log.port import RawEntry
from events.snapshots import SPACING
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.state.fold_raw import RawFold
from haes.state.restore import replay_state
from haes.state.snapshot import encode_state
from haes.state.snapshots import write_snapshots
from replay.verify import verify

EVENTS, RESOURCES, NODES = 12_000, 100, 8
BENCHMARK = Path(__file__).parent.parent.parent / "benchmarks" / "replay.py"
# Seconds for a small run of it.
LIMIT = 60


@cache
def _events() -> Sequence[Event]:
    return tuple(Life(NODES, RESOURCES).events(EVENTS))


def _entries(events: Sequence[Event]) -> list[RawEntry]:
    """Returns the entries that a stream would hold of events."""
    return [
        (b"1-%d" % n, [part for pair in zip(FIELDS, [b"%d" % n, *encode_fields(event)], strict=True) for part in pair])
        for n, event in enumerate(events, 1)
    ]


async def test_states_from_snapshots_are_those_of_the_whole_fold() -> None:
    """All along a long stream, on and between snapshots, every state is that of the ordinary fold from the start."""
    log = MemoryLog("main")
    await log.append(_events(), token=await log.acquire("leader", "node1"))
    numbers = await write_snapshots(History(log), 1_000)
    assert len(numbers) == EVENTS // 1_000
    points = {*numbers, *range(317, EVENTS, 733), EVENTS}
    state, compared = ClusterState(), 0
    async for event in log.read_all():
        apply_event(state, event)
        if event.n in points:
            compared += 1
            assert encode_state(await replay_state(History(log), event.n)) == encode_state(state)
    assert compared == len(points)
    assert not state.parked
    report = await verify(History(log))
    # One lease wrote everything, so all leaders have one epoch; loads and imbalances are invented.
    assert {finding.check for finding in report.findings} <= {"epochs", "claims"}


def test_a_state_is_small() -> None:
    """Beyond the events themselves, replaying takes less than two kilobytes for each resource."""
    entries = _entries(_events())
    fold = RawFold(ClusterState())
    # The first event makes everything that is made once.
    fold.take(entries[:1])
    gc.collect()
    tracemalloc.start()
    for begin in range(1, EVENTS, 500):
        fold.take(entries[begin : begin + 500])
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(fold.state.resources) == RESOURCES
    assert used / RESOURCES < 2_000


def test_snapshots_are_close_enough_for_a_second() -> None:
    """Between two snapshots lies at most what 400,000 events/s replay in half a second."""
    assert SPACING <= 400_000 / 2


def test_the_benchmark_prints_its_figures() -> None:
    """A small run prints one JSON object with the figures that are watched, and says what it was compared with."""
    words = [sys.executable, str(BENCHMARK), "--events", "3000", "--resources", "50", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=True)
    figures = json.loads(done.stdout)
    assert figures["events"] == 3000
    assert figures["resources"] == 50
    for name in ("events_per_second", "raw_events_per_second", "archive_events_per_second"):
        assert figures[name] > 0
    assert figures["points"]["longest_seconds"] > 0
    beside = figures["eventsourcing"]
    assert "not installed" in beside if isinstance(beside, str) else beside["sqlite"] > 0


@pytest.mark.parametrize("count", [0, 1, 500])
def test_made_up_streams_are_the_same_every_time(count: int) -> None:
    """The same seed gives the same events, so that figures of two versions can be compared."""
    assert list(Life(NODES, RESOURCES).events(count)) == list(_events()[:count])
