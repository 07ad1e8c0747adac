"""Measures guarded appends on a private server: batches of 10 events, and how long a single one takes.

python benchmarks/log.py [--json]
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from events.envelope import Event
from events.log.port import Batch, EventLog, Token
from events.url import connect

BATCH, BATCHES, SINGLES = 10, 10_000, 5_000
RUNS = 3
Measured = TypeVar("Measured")
PAYLOAD = {"previous": "started", "node": "node1", "target": "node2"}


def _event(number: int) -> Event:
    return Event("resource.relocate", f"vm:{number % 1000}", "node1/crm", 1764572323.125, PAYLOAD, about="to node2")


async def batches(log: EventLog, token: Token, *, guarded: bool) -> float:
    """Returns events a second in batches; guarded ones carry a command id and the versions they were decided on."""
    versions: dict[str, int] = await log.versions([f"vm:{number}" for number in range(1000)])
    calls = []
    for number in range(BATCHES):
        events = [_event(BATCH * number + place) for place in range(BATCH)]
        expect = {event.subject: versions[event.subject] for event in events} if guarded else None
        for event in events:
            versions[event.subject] += 1
        calls.append(Batch(events, token, expect, f"{time.time_ns()}-{number}" if guarded else None))
    begun = time.perf_counter()
    for result in await log.append_many(calls):
        if isinstance(result, Exception):
            raise result
    return BATCH * BATCHES / (time.perf_counter() - begun)


async def singles(log: EventLog, token: Token) -> list[float]:
    """Returns the seconds of single guarded appends, one after the other, sorted."""
    taken = []
    versions = await log.versions([f"vm:{number}" for number in range(1000)])
    for number in range(SINGLES):
        event = _event(number)
        begun = time.perf_counter()
        await log.append([event], token=token, expect={event.subject: versions[event.subject]}, command=f"one-{number}")
        taken.append(time.perf_counter() - begun)
        versions[event.subject] += 1
    return sorted(taken)


async def fresh(measure: Callable[[EventLog, Token], Awaitable[Measured]]) -> Measured:
    """Measures on a server of its own: one that is busy with writing its file anew would be measured, too."""
    with tempfile.TemporaryDirectory() as folder:
        async with connect(f"embedded:{folder}/log", "benchmark") as log:
            return await measure(log, await log.acquire("benchmark", "benchmark"))


async def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    plain = max([await fresh(lambda log, token: batches(log, token, guarded=False)) for _ in range(RUNS)])
    guarded = max([await fresh(lambda log, token: batches(log, token, guarded=True)) for _ in range(RUNS)])
    taken = await fresh(singles)
    figures: dict[str, Any] = {
        "events_per_second_token_only": round(plain),
        "events_per_second_token_versions_command": round(guarded),
        "single_append_median_ms": round(1000 * taken[len(taken) // 2], 3),
        "single_append_p99_ms": round(1000 * taken[len(taken) * 99 // 100], 3),
    }
    print(json.dumps(figures) if options.json else "\n".join(f"{name}: {value}" for name, value in figures.items()))


if __name__ == "__main__":
    asyncio.run(main())
