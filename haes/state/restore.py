"""From a log to a state: the latest good snapshot, then the events after it; decides nothing."""

from events.errors import EntryCorrupt, EventUnknown
from events.log.port import Checkpoint, EventLog
from events.snapshots import Snapshot, save_snapshot, snapshots_before
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
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
    while at_most is None or state.n < at_most:
        count = 1000 if at_most is None else min(1000, at_most - state.n)
        events = await log.read(state.n, count=count, lenient=lenient)
        if not events:
            break
        for event in events:
            apply_event(state, event)
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
