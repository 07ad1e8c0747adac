"""What is taken from a state that others move on is used as it was when it was taken."""

from contextlib import aclosing

import pytest

from events.errors import StaleDecision
from events.log.memory import MemoryLog
from events.log.port import Head
from events.snapshots import snapshots_before
from haes.live.decision import Decision, Right
from haes.live.lease import HeldLease
from haes.live.replica import Replica
from haes.state.batch import Batch
from haes.state.restore import save_state
from haes.state.snapshot import decode_state


class BusyLog(MemoryLog):
    """A log to which somebody else appends, and whose reader applies that, whenever its end is asked for.

    Attributes:
        reader: applies it.
    """

    reader: Replica | None = None

    async def head(self) -> Head:
        """See EventLog."""
        if self.reader is not None:
            await _append(self, "node2")
            await self.reader.catch_up()
        return await super().head()


async def _append(log: MemoryLog, node: str) -> None:
    token = await log.acquire("operator", "test", seize=True)
    batch = Batch(None, "test", 1.0)
    batch.emit("node.added", node)
    await log.append(batch.events, token=token)


async def test_a_snapshot_holds_the_state_of_its_position() -> None:
    """A snapshot that is taken while the state moves on is that of the event whose number and id it bears."""
    log = BusyLog("main")
    await _append(log, "node1")
    replica = Replica(log)
    await replica.open()
    log.reader = replica
    assert await save_state(log, replica.state)
    log.reader = None
    [n] = await log.snapshot_numbers()
    assert n == 1
    assert replica.state.n > 1
    async with aclosing(snapshots_before(log)) as snapshots:
        [state] = [decode_state(snapshot.data) async for snapshot in snapshots]
    assert state is not None
    assert (state.n, state.members) == (1, {"node1"})


async def test_a_decision_is_checked_against_what_it_was_decided_on() -> None:
    """A decision that is kept while the state moves on is refused as stale, however often it is offered."""
    log = MemoryLog("main")
    replica = Replica(log)
    await replica.open()
    held = HeldLease(log, "leader", "test", 60.0)
    assert await held.acquire()
    decision = Decision(replica.state.working_copy(), "node1/crm", 1.0, Right.of(held))
    decision.emit("node.added", "node1")
    await _append(log, "node1")
    await replica.catch_up()
    for _ in range(2):
        with pytest.raises(StaleDecision):
            await replica.append(decision)
    assert (await log.head()).n == 1
