"""From a log to a state: the latest good snapshot, then the events after it; decides nothing."""

from events.errors import EntryCorrupt, EventUnknown
from events.log.port import Checkpoint, EventLog
from events.snapshots import Snapshot, save_snapshot, snapshots_before
from haes.state.cluster import ClusterState
from haes.state.fold_raw import RawFold
from haes.state.snapshot import decode_state, encode_state


async def restore_state(log: EventLog, at_most: int | None = None, *, lenient: bool = False) -> ClusterState:
    """Returns the state that the log leads to, or led to after event `at_most`.

    With `lenient` the subjects of events that cannot be understood are parked, and the others go on.

    Raises:
        LogFault: an event cannot be understood.
        LogUnavailable: the log cannot be reached.
    """
    state = ClusterState()
    async for snapshot in snapshots_before(log, at_most):
        known = decode_state(snapshot.data)
        if known is not None and known.n == snapshot.checkpoint.n:
            state = known
            break
    head = await log.head()
    end = head.n if at_most is None else min(at_most, head.n)
    fold = RawFold(state, lenient=lenient)
    async for chunk in log.raw_chunks(state.n):
        if state.n >= end:
            break
        # Without a limit nothing is cut off: of entries that are no events there may be any number.
        fold.take(chunk if at_most is None else chunk[: end - state.n])
    return state


async def replay_state(log: EventLog, state: ClusterState) -> ClusterState:
    """Applies everything after a state as fast as one core can; nothing else of the program runs meanwhile.

    Raises:
        LogFault: an event cannot be understood.
        LogUnavailable: the log cannot be reached.
    """
    fold = RawFold(state)
    async for chunk in log.bulk_chunks(state.n):
        fold.take(chunk)
    return state


async def save_state(log: EventLog, state: ClusterState) -> bool:
    """Keeps a snapshot of a state; returns whether the log still has the event that the state ends with."""
    if not state.n:
        return False
    try:
        events = await log.read(state.n - 1, count=1)
    except (EntryCorrupt, EventUnknown):
        return False
    if not events or events[0].n != state.n:
        return False
    head = await log.head()
    checkpoint = Checkpoint(head.log_id, events[0].id, state.n)
    await save_snapshot(log, Snapshot(checkpoint, encode_state(state)))
    return True
