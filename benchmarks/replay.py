"""How fast a stream becomes a state again: from Redis, from an archive, at any point, and beside another library.

Run it with `python benchmarks/replay.py`; `--json` prints one JSON object, `--write` renews the table in
docs/benchmarks.md, `--log URL --cluster NAME` measures a stream that exists and changes nothing about it.
"""

# ruff: noqa: E402 - where modules are looked for has to be put right first
import argparse
import asyncio
import gc
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# A script's own folder comes first there, where this file would stand in the way of the package of the same name.
sys.path[0] = str(Path(__file__).parent.parent)

from benchmarks.stream import Life
from events.archive import write_segment
from events.embedded import EmbeddedLog
from events.envelope import Event
from events.errors import UserError
from events.history import History
from events.log.checks import decode_after
from events.log.port import Batch, EventLog, RawEntry, Token
from events.url import connect
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.state.fold_raw import RawFold
from haes.state.restore import replay_state, uncollected
from haes.state.snapshots import write_snapshots
from replay.points import find_point

EVENTS = 1_000_000
RESOURCES = 1_000
NODES = 16
# Events of one append, and appends that are sent together, when the stream is made.
APPEND = 100
APPENDS = 200
# Events of one archived segment, as `haes archive write` makes them.
SEGMENT = 250_000
# Runs of each measurement; the fastest counts, since everything else on the machine can only slow it down.
RUNS = 5
# Events for what is an order of magnitude slower.
SLOW_EVENTS = 100_000
# Points of the stream that are looked up and restored.
POINTS = 30
# Seconds for the server to come to rest after a million appends, and between two looks.
REST_LIMIT = 60.0
REST_INTERVAL = 0.1
CLUSTER = "main"
DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- replay: begin -->", "<!-- replay: end -->"

Chunks = AsyncGenerator[list[RawEntry], None]


async def build(log: EventLog, count: int, resources: int) -> None:
    """Appends the events of a made-up cluster, through the script that every append goes through."""
    token = await log.acquire("leader", "benchmark")
    waiting: list[Event] = []
    for event in Life(NODES, resources).events(count):
        # A new leader writes under a new epoch.
        elected = event.type == "manager.master"
        if elected or len(waiting) == APPEND * APPENDS:
            await _append(log, waiting, token)
            waiting = []
        if elected:
            token = await log.acquire("leader", event.by, seize=True)
        waiting.append(event)
    await _append(log, waiting, token)


async def fill(log: EmbeddedLog, count: int, resources: int) -> None:
    """Makes the stream in a process of its own and waits until the server is at rest.

    A replay begins in a fresh process; memory in which a million events were made is in pieces, and slower. And a
    server that still writes its file anew does so on the core that it needs.
    """
    words = [sys.executable, __file__, "--fill", log.url, str(count), str(resources)]
    process = await asyncio.create_subprocess_exec(*words)
    if await process.wait():
        raise UserError("the stream could not be made")
    async with asyncio.timeout(REST_LIMIT):
        while (await _info(log))["aof_rewrite_in_progress"] != "0":  # noqa: ASYNC110 - nobody tells when it is done
            await asyncio.sleep(REST_INTERVAL)


async def _info(log: EmbeddedLog) -> dict[str, str]:
    return await log._server.info("persistence")  # noqa: SLF001 - nobody but a benchmark wants to know


async def _fill(url: str, count: int, resources: int) -> None:
    async with connect(url, CLUSTER) as log:
        await build(log, count, resources)


async def _append(log: EventLog, events: list[Event], token: Token) -> None:
    batches = [Batch(events[begin : begin + APPEND], token) for begin in range(0, len(events), APPEND)]
    for result in await log.append_many(batches):
        if isinstance(result, Exception):
            raise result


async def rate(chunks: Callable[[], Chunks], take: Callable[[list[RawEntry]], object], runs: int = RUNS) -> float:
    """Returns events per second, of the fastest run; `take` gets every chunk."""
    best = float("inf")
    count = 0
    for _ in range(runs):
        count = 0
        gc.collect()
        with uncollected():
            begin = time.perf_counter()
            async with aclosing(chunks()) as reading:
                async for chunk in reading:
                    take(chunk)
                    count += len(chunk)
            best = min(best, time.perf_counter() - begin)
    return count / best


def folding() -> Callable[[list[RawEntry]], None]:
    """Returns what folds chunks into a new state, and into another new one when the first event comes again."""
    fold = RawFold(ClusterState())

    def take(chunk: list[RawEntry]) -> None:
        nonlocal fold
        if chunk[0][1][1] == b"1":
            fold = RawFold(ClusterState())
        fold.take(chunk)

    return take


def ordinary() -> Callable[[list[RawEntry]], None]:
    """Returns what decodes every event and applies it, as a manager does with the few that come each round."""
    state = ClusterState()

    def take(chunk: list[RawEntry]) -> None:
        for event in decode_after(state.n, chunk):
            apply_event(state, event)

    return take


async def memory(history: History) -> dict[str, float]:
    """Returns what a state takes, and how many resources it holds."""
    gc.collect()
    tracemalloc.start()
    fold = RawFold(ClusterState())
    async with aclosing(history.chunks()) as chunks:
        async for chunk in chunks:
            fold.take(chunk)
    del chunk
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    count = len(fold.state.configurations)
    return {"resources": count, "bytes_per_resource": used / max(1, count)}


async def points(log: EventLog) -> dict[str, float]:
    """Returns how long it takes to find a time and to restore the state at it, over the whole stream."""
    history = History(log)
    head = await log.head()
    chance = random.Random(1)
    seconds = []
    for _ in range(POINTS):
        at = (await find_point(history, str(chance.randint(1, head.n)))).at
        begin = time.perf_counter()
        point = await find_point(history, f"@{at!r}")
        state = await replay_state(history, point.n)
        seconds.append(time.perf_counter() - begin)
        if state.n != point.n:
            raise UserError(f"the state at event {point.n} is that of event {state.n}")
    return {
        "snapshots": len(await log.snapshot_numbers()),
        "median_seconds": statistics.median(seconds),
        "longest_seconds": max(seconds),
    }


async def measure(log: EventLog, *, runs: int = RUNS) -> dict[str, Any]:
    """Measures a stream as it is."""
    history = History(log)
    head = await log.head()
    if not head.n:
        raise UserError(f"cluster '{log.cluster}' has no events in this log (--cluster NAME)")
    few = min(head.n, SLOW_EVENTS)
    figures: dict[str, Any] = {"events": head.n}
    figures["raw_events_per_second"] = await rate(history.chunks, len, runs)
    figures["events_per_second"] = await rate(history.chunks, folding(), runs)
    figures["ordinary_events_per_second"] = await rate(lambda: history.chunks(0, few), ordinary(), 1)
    return figures | await memory(history)


async def measure_own(folder: Path, count: int, resources: int) -> dict[str, Any]:
    """Makes a stream and measures everything on it."""
    log = EmbeddedLog(folder / "data", CLUSTER)
    await log.open()
    try:
        begin = time.perf_counter()
        await fill(log, count, resources)
        made = time.perf_counter() - begin
        figures = await measure(log)
        figures["made_seconds"] = made
        begin = time.perf_counter()
        await write_snapshots(History(log))
        figures["snapshots_written_seconds"] = time.perf_counter() - begin
        figures["points"] = await points(log)
        archive = folder / "archive"
        size = 0
        for first in range(1, count + 1, SEGMENT):
            size += (await write_segment(log, archive, first, min(first + SEGMENT - 1, count))).path.stat().st_size
        await log.trim(count)
        history = History(log, archive)
        figures["archive_events_per_second"] = await rate(history.chunks, folding())
        figures["archive_bytes_per_event"] = size / count
    finally:
        await log.close()
    return figures


def beside(count: int, resources: int) -> dict[str, Any] | str:
    """Returns the figures of the other library, or why there are none."""
    if find_spec("eventsourcing") is None:
        return "it is not installed (pip install -e '.[benchmark]')"
    figures: dict[str, Any] = import_module("benchmarks.other_library").measure(count, resources)
    return figures


ROWS = (
    ("reading alone, nothing done with it", "raw_events_per_second"),
    ("**replay from Redis**", "events_per_second"),
    ("replay from an archive", "archive_events_per_second"),
    ("one event object after the other", "ordinary_events_per_second"),
)


def table(figures: dict[str, Any]) -> str:
    """Returns the figures as Markdown."""
    lines = ["| what | events/s |", "|---|---|"]
    lines += [f"| {text} | {figures[key]:,.0f} |" for text, key in ROWS if key in figures]
    other = figures.get("eventsourcing")
    if isinstance(other, dict):
        lines += [
            f"| eventsourcing {other['version']}, {text} | {other[key]:,.0f} |"
            for text, key in (("events in memory", "memory"), ("events in SQLite (in memory)", "sqlite"))
        ]
    elif other is not None:
        lines += ["", f"eventsourcing was not measured: {other}."]
    lines += ["", f"The state takes {figures['bytes_per_resource']:,.0f} bytes for each of"]
    lines[-1] += f" {figures['resources']:,} resources, the balancer's memory included."
    if "points" in figures:
        found = figures["points"]
        median, longest = found["median_seconds"] * 1000, found["longest_seconds"] * 1000
        lines.append(f"With {found['snapshots']} snapshots the state at a random time is there after {median:.0f} ms")
        lines[-1] += f" (median of {POINTS}), after {longest:.0f} ms at the latest."
    if "archive_bytes_per_event" in figures:
        lines[-1] += f" An archived event takes {figures['archive_bytes_per_event']:.0f} bytes."
    return "\n".join(lines)


def write(figures: dict[str, Any]) -> None:
    """Renews the section in the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    about = f"{figures['events']:,} events; fastest of {RUNS} runs."
    section = f"{BEGIN}\nMeasured on {datetime.now(UTC):%Y-%m-%d}: {machine}; {about}\n\n{table(figures)}\n{END}"
    before, _, rest = text.partition(BEGIN)
    DOCUMENT.write_text(before + section + rest.partition(END)[2], encoding="utf-8")


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures what was asked for."""
    if options.log is not None:
        async with connect(options.log, options.cluster) as log:
            figures = await measure(log)
            return figures | {"points": await points(log)}
    with tempfile.TemporaryDirectory(prefix="haes-benchmark-") as folder:
        figures = await measure_own(Path(folder), options.events, options.resources)
    return figures | {"eventsourcing": beside(min(options.events, SLOW_EVENTS), options.resources)}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="events per second that become a state again")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks.md")
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N", help=f"length of the stream ({EVENTS})")
    parser.add_argument("--resources", type=int, default=RESOURCES, metavar="N", help=f"resources in it ({RESOURCES})")
    parser.add_argument("--log", metavar="URL", help="measure a stream that exists")
    parser.add_argument("--cluster", default=CLUSTER, metavar="NAME", help="its cluster (main)")
    parser.add_argument("--fill", nargs=3, metavar=("URL", "EVENTS", "RESOURCES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fill:
        url, count, resources = options.fill
        asyncio.run(_fill(url, int(count), int(resources)))
        return
    try:
        figures = asyncio.run(run(options))
    except UserError as error:
        raise SystemExit(f"replay.py: {error}") from None
    if options.write:
        write(figures)
    print(json.dumps(figures) if options.json else table(figures))


if __name__ == "__main__":
    main()
