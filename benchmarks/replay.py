"""Measures replay: events a second from a server and from an archive, memory, and the state at any point.

    python benchmarks/replay.py [--events 1000000] [--json]
    python benchmarks/replay.py --log URL --cluster NAME      # an existing stream

Beside it the package `eventsourcing` replays aggregates in memory and from SQLite, if it is installed.
"""

import argparse
import asyncio
import gc
import json
import random
import tempfile
import time
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

from parts import in_parts
from stream import Life

from events.archive import read_segment, write_segment
from events.log.port import Batch as LogBatch
from events.log.port import EventLog
from events.url import connect
from haes.state.cluster import ClusterState
from haes.state.fold_raw import RawFold
from haes.state.restore import replay_state, restore_state, save_state

NODES, RESOURCES = 16, 1000
PER_APPEND = 100
SNAPSHOTS = 8
POINTS = 10


async def fill(log: EventLog, count: int) -> None:
    """Writes a made-up life of a cluster, with a few snapshots on the way."""
    token = await log.acquire("benchmark", "benchmark")
    life = Life(NODES, RESOURCES).events(count)
    state, every = ClusterState(), count // SNAPSHOTS
    written = 0
    while events := list(islice(life, every)):
        batches = [LogBatch(part, token) for part in in_parts(events, PER_APPEND)]
        for group in in_parts(batches, 100):
            await log.append_many(group)
        written += len(events)
        await replay_state(log, state)
        await save_state(log, state)
    await log.release(token)


async def measure(log: EventLog, folder: Path) -> dict[str, Any]:
    """Returns the figures."""
    n = (await log.head()).n
    best = 0.0
    for _ in range(3):
        state = ClusterState()
        gc.collect()
        gc.disable()
        begun = time.perf_counter()
        await replay_state(log, state)
        best = max(best, n / (time.perf_counter() - begun))
        gc.enable()
    begun, entries = time.perf_counter(), 0
    async for chunk in log.bulk_chunks():
        entries += len(chunk)
    raw = entries / (time.perf_counter() - begun)
    figures: dict[str, Any] = {
        "events": n,
        "events_per_second": round(best),
        "entries_per_second_raw": round(raw),
        "resources": len(state.resources),
    }
    segment = await write_segment(log, folder, 1, n)
    gc.disable()
    begun, archived = time.perf_counter(), RawFold(ClusterState())
    for part in in_parts(read_segment(segment), 500):
        archived.take(part)
    figures["events_per_second_from_archive"] = round(n / (time.perf_counter() - begun))
    gc.enable()
    assert archived.state.n == n  # noqa: S101 - a benchmark of something wrong is worth nothing
    figures |= await _points(log, n)
    tracemalloc.start()
    state = await replay_state(log, ClusterState())
    figures["bytes_per_resource"] = round(tracemalloc.get_traced_memory()[0] / max(1, len(state.resources)))
    tracemalloc.stop()
    return figures


async def _points(log: EventLog, n: int) -> dict[str, Any]:
    if not await log.snapshot_numbers():
        return {}
    slowest = 0.0
    for point in random.Random(1).sample(range(1, n), min(POINTS, n - 1)):
        begun = time.perf_counter()
        state = await restore_state(log, point)
        slowest = max(slowest, time.perf_counter() - begun)
        assert state.n == point  # noqa: S101 - see above
    return {"slowest_state_at_a_point_seconds": round(slowest, 3)}


def eventsourcing_figures(count: int) -> dict[str, Any]:
    """Replays as many events with the package `eventsourcing`, in memory and from SQLite."""
    try:
        from eventsourcing.application import Application  # noqa: PLC0415 - it may not be there
        from eventsourcing.domain import Aggregate, event  # noqa: PLC0415 - see above
    except ImportError:
        return {"eventsourcing": "not installed (pip install 'haes[benchmark]')"}

    class Service(Aggregate):
        @event("Created")
        def __init__(self, name: str) -> None:
            self.name, self.node, self.state = name, "node1", "started"

        @event("Moved")
        def move(self, node: str, state: str) -> None:
            self.node, self.state = node, state

    figures: dict[str, Any] = {}
    for name, environment in (
        ("memory", {}),
        ("sqlite", {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": ":memory:"}),
    ):
        application: Any = Application(env=environment)
        ids = []
        for number in range(max(1, count // 100)):
            service = Service(f"vm:{number}")
            for step in range(99):
                service.move(f"node{step % 3}", "started")
            application.save(service)
            ids.append(service.id)
        begun = time.perf_counter()
        for identity in ids:
            application.repository.get(identity)
        figures[f"eventsourcing_{name}_events_per_second"] = round(100 * len(ids) / (time.perf_counter() - begun))
    return figures


async def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--log", metavar="URL")
    parser.add_argument("--cluster", default="main")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.log or f"embedded:{folder}/log"
        async with connect(url, options.cluster) as log:
            if options.log is None:
                await fill(log, options.events)
            figures = await measure(log, Path(folder) / "archive")
    figures |= eventsourcing_figures(20_000)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(
                f"{name.replace('_', ' ')}: {value:,}"
                if isinstance(value, int)
                else f"{name.replace('_', ' ')}: {value}"
            )


if __name__ == "__main__":
    asyncio.run(main())
