"""From a log to a state: the latest good snapshot, then the events after it; decides nothing."""

import gc
from collections.abc import Iterator
from contextlib import aclosing, contextmanager

from events.errors import EntryCorrupt, EventUnknown
from events.history import History
from events.log.port import Checkpoint, EventLog
from events.snapshots import Snapshot, save_snapshot, snapshots_before
from haes.state.cluster import ClusterState
from haes.state.fold_raw import RawFold
from haes.state.snapshot import decode_state, encode_state


async def restore_state(log: EventLog, at_most: int | None = None, *, lenient: bool = False) -> ClusterState:
    """Returns the state that the log leads to, or led to after event `at_most`; others may run meanwhile.

    With `lenient` the subjects of events that cannot be understood are parked, and the others go on.

    Raises:
        LogFault: an event cannot be understood, or was trimmed away and no snapshot stands for it.
        LogUnavailable: the log cannot be reached.
    """
    state = await _nearest_snapshot(log, at_most, archived=False)
    head = await log.head()
    end = head.n if at_most is None else min(at_most, head.n)
    fold = RawFold(state, lenient=lenient)
    async with aclosing(log.raw_chunks(state.n)) as chunks:
        async for chunk in chunks:
            if state.n >= end:
                break
            # Without a limit nothing is cut off: of entries that are no events there may be any number.
            fold.take(chunk if at_most is None else chunk[: end - state.n])
    return state


async def replay_state(history: History, at_most: int | None = None) -> ClusterState:
    """Returns the same as fast as one core can, also where the stream was trimmed; nothing else may run meanwhile.

    Raises:
        LogFault: an event cannot be understood, or is neither in the stream nor in the archive.
        LogUnavailable: the log cannot be reached.
        UserError: the archive is damaged.
    """
    state = await _nearest_snapshot(history.log, at_most, archived=history.folder is not None)
    fold = RawFold(state, lenient=history.lenient)
    with uncollected():
        async with aclosing(history.chunks(state.n, at_most)) as chunks:
            async for chunk in chunks:
                fold.take(chunk)
    return state


@contextmanager
def uncollected() -> Iterator[None]:
    """Keeps the collector of cycles away: a fold makes none, and looking for them takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


async def _nearest_snapshot(log: EventLog, at_most: int | None, *, archived: bool) -> ClusterState:
    """Returns the state of the latest snapshot up to a number that this program can read, an empty one if none is."""
    async with aclosing(snapshots_before(log, at_most, archived=archived)) as snapshots:
        async for snapshot in snapshots:
            known = decode_state(snapshot.data)
            if known is not None and known.n == snapshot.checkpoint.n:
                return known
    return ClusterState()


async def save_state(log: EventLog, state: ClusterState) -> bool:
    """Keeps a snapshot of a state as it is now; returns whether the log still has the event that it ends with."""
    # Whoever follows the log moves the state on while the log is asked.
    n, packed = state.n, encode_state(state)
    if not n:
        return False
    try:
        events = await log.read(n - 1, count=1)
    except (EntryCorrupt, EventUnknown):
        return False
    if not events or events[0].n != n:
        return False
    head = await log.head()
    checkpoint = Checkpoint(head.log_id, events[0].id, n)
    await save_snapshot(log, Snapshot(checkpoint, packed))
    return True
