"""Snapshots of an old stream, so that any point of it is reached quickly; what they hold is in snapshot.py."""

from contextlib import aclosing

from events.history import History
from events.log.port import Checkpoint
from events.snapshots import KEPT, SPACING, Snapshot, save_snapshot
from haes.state.cluster import ClusterState
from haes.state.fold_raw import RawFold
from haes.state.snapshot import encode_state


async def write_snapshots(history: History, every: int = SPACING) -> list[int]:
    """Folds a whole history and keeps a snapshot after every so many events; returns the numbers of all that are kept.

    No more are kept than `KEPT`: for a longer history they are written further apart.

    Raises:
        LogFault: an event cannot be understood or is gone.
        UserError: the archive is damaged.
    """
    head = await history.log.head()
    # Rounded up, so that there are no more than are kept.
    every = max(every, -(-head.n // KEPT))
    fold = RawFold(ClusterState())
    state = fold.state
    async with aclosing(history.chunks(0, head.n)) as chunks:
        async for chunk in chunks:
            rest = chunk
            while rest:
                part, rest = rest[: every - state.n % every], rest[every - state.n % every :]
                fold.take(part)
                if state.n % every == 0:
                    checkpoint = Checkpoint(head.log_id, part[-1][0].decode(), state.n)
                    await save_snapshot(history.log, Snapshot(checkpoint, encode_state(state)))
    return await history.log.snapshot_numbers()
