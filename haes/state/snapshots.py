"""Snapshots of an old stream, so that any point of it is reached quickly; what they hold is in snapshot.py."""

from contextlib import aclosing

from events.history import History
from events.log.port import Checkpoint
from events.snapshots import KEPT, SPACING, Snapshot, save_snapshot
from haes.state.cluster import ClusterState
from haes.state.fold_raw import RawFold
from haes.state.restore import uncollected
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
    fold = RawFold(ClusterState(), lenient=history.lenient)
    state = fold.state
    with uncollected():
        async with aclosing(history.chunks(0, head.n)) as chunks:
            async for chunk in chunks:
                rest = chunk
                while rest:
                    left = every - state.n % every
                    part, rest = rest[:left], rest[left:]
                    fold.take(part)
                    if len(part) == left:
                        checkpoint = Checkpoint(head.log_id, part[-1][0].decode(), state.n)
                        await save_snapshot(history.log, Snapshot(checkpoint, encode_state(state)))
    return await history.log.snapshot_numbers()
