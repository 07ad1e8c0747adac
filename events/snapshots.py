"""Snapshots beside a log: a fold at a named position, checked before use; knows nothing of what was folded.

A snapshot is a cache. One that belongs to another log, lies behind a lost tail or cannot be read is left alone, and the
reader folds from an earlier one or from the start.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import msgpack

from events.errors import LogFault, LogTruncated
from events.log.port import Checkpoint, EventLog

# Events between two snapshots of an old stream: folding so many takes a quarter of a second at 400,000 events/s, so
# that any point is reached in less than a second, the start of the program and a busy machine included.
SPACING = 100_000
# How many are kept: with SPACING they cover some three million events; those of a longer log are spread evenly over it.
# Of a cluster of a thousand resources one takes a sixth of a megabyte, all together five.
KEPT = 32


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A fold up to and including the event at a checkpoint."""

    checkpoint: Checkpoint
    data: bytes


async def save_snapshot(log: EventLog, snapshot: Snapshot, *, kept: int = KEPT) -> None:
    """Keeps a snapshot. Of more than `kept`, the one goes whose neighbours are closest: the rest stay spread out."""
    checkpoint = snapshot.checkpoint
    packed = msgpack.packb([checkpoint.log_id, checkpoint.id, snapshot.data])
    await log.put_snapshot(checkpoint.n, packed)
    numbers = await log.snapshot_numbers()
    while len(numbers) > kept:
        gaps = [(after - before, n) for before, n, after in zip([0, *numbers], numbers, numbers[1:], strict=False)]
        _, crowded = min(gaps)
        await log.drop_snapshot(crowded)
        numbers.remove(crowded)


async def snapshots_before(
    log: EventLog, at_most: int | None = None, *, archived: bool = False
) -> AsyncGenerator[Snapshot, None]:
    """Yields the snapshots that are good for this log, latest first.

    Args:
        log: the log.
        at_most: only those up to this sequence number.
        archived: also those from which the stream alone does not lead on, because it was trimmed further.
    """
    for n in reversed(await log.snapshot_numbers()):
        if at_most is not None and n > at_most:
            continue
        snapshot = _unpack(n, await log.get_snapshot(n))
        if snapshot is None:
            continue
        try:
            await log.attach(snapshot.checkpoint)
        except LogTruncated:
            # Its own log, for another one is a fault of its own kind.
            if not archived:
                continue
        except LogFault:
            continue
        yield snapshot


def _unpack(n: int, packed: bytes | None) -> Snapshot | None:
    if packed is None:
        return None
    try:
        log_id, entry_id, data = msgpack.unpackb(packed)
    except (ValueError, TypeError, msgpack.exceptions.UnpackException):
        return None
    return Snapshot(Checkpoint(log_id, entry_id, n), data)
