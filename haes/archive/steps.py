"""The steps by which events leave the stream: written to segments, read back and compared, recorded, trimmed.

Whoever reads a segment back has to be another process than its writer; that is up to whoever takes the steps. Between
two steps anything may happen: each looks at what is there and goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from events.archive import Segment, check_segment, digest, segments_in, write_segment
from events.errors import UserError
from events.history import History
from events.log.port import EventLog
from events.readers import waiting_readers
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.restore import replay_state, save_state

# Events of one segment: a file of some 6 to 10 MB.
SEGMENT_EVENTS = 250_000
# Seconds for which the archivist holds its lease: an append follows at once.
LEASE_TERM = 30.0
LEASE = "archivist"
AUTHOR = "archive/check"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What trimming came to.

    Attributes:
        up_to: number of the last event that may go.
        removed: how many went.
        held_back_by: the reader that keeps more from going, None when none does.
    """

    up_to: int
    removed: int
    held_back_by: str | None


async def write(
    log: EventLog, folder: Path, *, segment_events: int = SEGMENT_EVENTS, keep: int = 0, whole: bool = False
) -> list[Segment]:
    """Writes what is not archived yet into segments, and a snapshot of the end.

    Args:
        log: the log.
        folder: where segments lie.
        segment_events: events of one segment.
        keep: how many of the last events are left alone.
        whole: write no segment that has fewer events than that; a later run finds more.
    """
    state = await _state(log, folder)
    await save_state(log, state)
    archived = max((segment.last for segment in segments_in(folder)), default=0)
    written = []
    while (left := state.n - keep - archived) > 0 and (not whole or left >= segment_events):
        last = archived + min(segment_events, left)
        written.append(await write_segment(log, folder, archived + 1, last))
        archived = last
    return written


async def check(log: EventLog, folder: Path) -> list[tuple[Segment, str]]:
    """Reads back the segments that are not recorded yet, compares them with the stream, and records their digests."""
    recorded = await recorded_segments(log, folder)
    checked = []
    for segment in segments_in(folder):
        if segment.path.name in recorded:
            continue
        found = await check_segment(log, segment)
        token = await log.acquire(LEASE, AUTHOR, ttl=LEASE_TERM)
        batch = Batch(None, AUTHOR, await log.now())
        batch.emit(
            "archive.written",
            "archive",
            about=segment.path.name,
            first=segment.first,
            last=segment.last,
            sha256=found,
            file=segment.path.name,
        )
        await log.append(batch.events, token=token)
        await log.release(token)
        checked.append((segment, found))
    return checked


async def trim(log: EventLog, folder: Path, *, keep: int = 0) -> Trimmed:
    """Removes from the stream what lies in recorded segments, below a snapshot, and behind every registered reader.

    Args:
        log: the log.
        folder: where segments lie.
        keep: how many of the last events stay in any case.

    Raises:
        UserError: a file is not the one that was recorded; nothing was trimmed.
    """
    recorded = await recorded_segments(log, folder)
    good = 0
    for segment in segments_in(folder):
        if segment.first > good + 1 or segment.path.name not in recorded:
            break
        if digest(segment) != recorded[segment.path.name]:
            raise UserError(f"{segment.path}: is not the file that was recorded; nothing was trimmed")
        good = segment.last
    limit = min(good, max(0, (await log.head()).n - keep), await _covered(log))
    readers = waiting_readers(await log.leases())
    slowest = min(readers, key=lambda name: readers[name], default=None)
    if slowest is None or readers[slowest] >= limit:
        return Trimmed(limit, await log.trim(limit), None)
    return Trimmed(readers[slowest], await log.trim(readers[slowest]), slowest)


async def _covered(log: EventLog) -> int:
    """Returns the number up to which snapshots stand for events: by the one before the last, should that be damaged."""
    numbers = await log.snapshot_numbers()
    return max(numbers[-2:-1] or numbers, default=0)


async def recorded_segments(log: EventLog, folder: Path) -> Mapping[str, str]:
    """Returns file -> digest for every segment that was found good, also when its record was trimmed since."""
    return (await _state(log, folder)).archived


async def _state(log: EventLog, folder: Path) -> ClusterState:
    return await replay_state(History(log, folder, lenient=True))
