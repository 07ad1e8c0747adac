"""Snapshots beside a log: kept spread out, and only used where they belong."""

from events.log.memory import MemoryLog
from events.log.port import Checkpoint
from events.snapshots import Snapshot, save_snapshot, snapshots_before
from tests.events.kinds import many


async def _log(count: int) -> tuple[MemoryLog, list[Checkpoint]]:
    log = MemoryLog("main")
    token = await log.acquire("leader", "node1")
    await log.append(many(count), token=token)
    head = await log.head()
    return log, [Checkpoint(head.log_id, event.id, event.n) for event in await log.read(count=count)]


async def test_the_latest_snapshot_before_a_point_comes_first() -> None:
    """Snapshots come latest first, and none lies after the point that was asked for."""
    log, checkpoints = await _log(30)
    for n in (10, 20, 30):
        await save_snapshot(log, Snapshot(checkpoints[n - 1], b"%d" % n))
    assert [snapshot.data async for snapshot in snapshots_before(log)] == [b"30", b"20", b"10"]
    assert [snapshot.data async for snapshot in snapshots_before(log, 25)] == [b"20", b"10"]


async def test_only_so_many_are_kept_and_they_stay_spread_out() -> None:
    """The number of snapshots is bounded, the latest stays, and no stretch of the log is left without one."""
    log, checkpoints = await _log(100)
    for n in range(5, 101, 5):
        await save_snapshot(log, Snapshot(checkpoints[n - 1], b""), kept=5)
    numbers = await log.snapshot_numbers()
    assert len(numbers) == 5
    assert numbers[-1] == 100
    assert max(after - before for before, after in zip([0, *numbers], numbers, strict=False)) <= 45


async def test_a_snapshot_of_another_log_is_not_used() -> None:
    """A snapshot whose position is not in this log is passed over."""
    log, checkpoints = await _log(10)
    await save_snapshot(log, Snapshot(Checkpoint("another", checkpoints[4].id, 5), b""))
    await save_snapshot(log, Snapshot(Checkpoint(checkpoints[0].log_id, "1-7", 7), b""))
    await log.put_snapshot(9, b"damaged")
    assert [snapshot async for snapshot in snapshots_before(log)] == []
