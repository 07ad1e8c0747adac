"""Snapshots of old streams: any point is reached from one, and what is reached is what the whole fold gives."""

from pathlib import Path

import pytest

from events.archive import digest, segments_in, write_segment
from events.envelope import Event
from events.history import History
from events.log.memory import MemoryLog
from events.snapshots import KEPT
from haes.state.fold import fold
from haes.state.restore import replay_state
from haes.state.snapshot import encode_state
from haes.state.snapshots import write_snapshots
from replay.history import open_history, wanted_events
from replay.verify import verify
from tests.builders import tell
from tests.scenarios.sample import load

NAME = "test-memory-21-022"


async def _live() -> tuple[MemoryLog, list[Event]]:
    log = MemoryLog("main")
    return log, (await tell(load(NAME), log=log)).events


async def test_from_snapshots_every_point_is_the_whole_fold() -> None:
    """At many points, on, before and after snapshots, the state from the nearest one is that of the fold from 1 on."""
    log, events = await _live()
    every = len(events) // 7
    numbers = await write_snapshots(History(log), every)
    assert numbers == [every * count for count in range(1, len(events) // every + 1)]
    for n in {*range(1, len(events), 5), *numbers, *(n - 1 for n in numbers), *(n + 1 for n in numbers), len(events)}:
        if n <= len(events):
            assert encode_state(await replay_state(History(log), n)) == encode_state(fold(events[:n]))
    report = await verify(History(log))
    assert report.findings == []
    assert report.checks["snapshots"] == f"{len(numbers)} snapshots compared with the fold"


async def test_a_replay_starts_from_the_nearest_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is read than what lies between the snapshot before the point and the point."""
    log, _ = await _live()
    await write_snapshots(History(log), 50)
    read: list[int] = []
    bulk = MemoryLog.bulk_chunks

    def noted(self: MemoryLog, after: int = 0) -> object:
        read.append(after)
        return bulk(self, after)

    monkeypatch.setattr(MemoryLog, "bulk_chunks", noted)
    for n in (49, 50, 51, 120, 149):
        await replay_state(History(log), n)
    # What a snapshot holds needs no reading at all.
    assert read == [0, 50, 100, 100]


async def test_there_are_never_more_than_are_kept() -> None:
    """Asking for very many snapshots yields as many as are kept, evenly spread over the whole stream."""
    log, events = await _live()
    numbers = await write_snapshots(History(log), 1)
    gaps = [after - before for before, after in zip([0, *numbers], [*numbers, len(events)], strict=True)]
    assert KEPT * 0.9 < len(numbers) <= KEPT
    assert max(gaps) <= -(-len(events) // KEPT)


async def _archive(log: MemoryLog, folder: Path, last: int) -> None:
    """Archives, records and trims the events up to one."""
    for first in range(1, last, 50):
        await write_segment(log, folder, first, min(first + 49, last))
    token = await log.acquire("archivist", "archive/check")
    await log.append(
        [
            Event(
                *("archive.written", "archive", "archive/check", 0),
                {"first": part.first, "last": part.last, "sha256": digest(part), "file": part.path.name},
            )
            for part in segments_in(folder)
        ],
        token=token,
    )
    await log.trim(last)


@pytest.mark.parametrize("snapshots", [False, True])
async def test_archived_points_are_reached_with_and_without_snapshots(tmp_path: Path, *, snapshots: bool) -> None:
    """Where the stream was trimmed, points come from the archive, from snapshots within it where there are some."""
    log, events = await _live()
    if snapshots:
        await write_snapshots(History(log), 30)
    await _archive(log, tmp_path, len(events) * 2 // 3)
    history = await open_history(log, tmp_path)
    for n in (1, 29, 31, 50, 51, len(events) * 2 // 3, len(events) * 2 // 3 + 1, len(events)):
        assert encode_state(await replay_state(history, n)) == encode_state(fold(events[:n]))
    motions = [event.n async for event in wanted_events(history, lambda type_, _: type_ == b"balance.motion")]
    assert motions == [event.n for event in events if event.type == "balance.motion"]
    report = await verify(history)
    assert report.findings == []
    assert report.events == (await log.head()).n
