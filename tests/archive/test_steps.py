"""Archiving step by step: what leaves the stream is in a checked file, below a snapshot, and read by everybody."""

from collections.abc import Callable
from pathlib import Path

import pytest

from events.archive import segments_in
from events.errors import LeaseHeld, UserError
from events.history import History
from events.log.memory import MemoryLog
from events.readers import TERM, Registration
from haes.archive.steps import check, trim, write
from haes.state.restore import replay_state, restore_state, save_state
from tests.events.kinds import many


async def _log(count: int, clock: Callable[[], float] = lambda: 1000.0) -> MemoryLog:
    log = MemoryLog("main", clock=clock)
    await log.append(many(count), token=await log.acquire("leader", "node1"))
    return log


async def test_nothing_is_trimmed_before_it_was_read_back_and_recorded(tmp_path: Path) -> None:
    """Written segments alone free nothing; what was checked and recorded goes, and the archive still has it."""
    log = await _log(100)
    whole = [event async for event in History(log).events()]
    assert [(segment.first, segment.last) for segment in await write(log, tmp_path, segment_events=40)] == [
        (1, 40),
        (41, 80),
        (81, 100),
    ]
    assert (await trim(log, tmp_path)).removed == 0
    assert len(await check(log, tmp_path)) == 3
    assert await check(log, tmp_path) == []
    assert (await trim(log, tmp_path)).up_to == 100
    assert (await log.head()).n == 103
    assert [event async for event in History(log, tmp_path).events(0, 100)] == whole
    assert (await restore_state(log)).n == 103


async def test_whole_segments_leave_the_rest_for_later(tmp_path: Path) -> None:
    """With `whole` and `keep` only full segments are written, and the last events stay in the stream."""
    log = await _log(100)
    assert await write(log, tmp_path, segment_events=101, whole=True) == []
    assert len(await write(log, tmp_path, segment_events=30, keep=15, whole=True)) == 2
    assert [segment.last for segment in segments_in(tmp_path)] == [30, 60]
    await check(log, tmp_path)
    assert (await trim(log, tmp_path, keep=62)).up_to == 40


async def test_trimming_stays_below_the_snapshot_before_the_last(tmp_path: Path) -> None:
    """Should the last snapshot be unreadable, the one before it still leads on."""
    log = await _log(50)
    await save_state(log, await restore_state(log))
    token = await log.acquire("leader", "node1", seize=True)
    await log.append(many(50), token=token)
    await write(log, tmp_path)
    await check(log, tmp_path)
    assert (await trim(log, tmp_path)).up_to == 50
    await log.put_snapshot(100, b"damaged")
    assert (await restore_state(log)).n == (await log.head()).n


async def test_a_registered_reader_holds_back_what_it_has_not_read(tmp_path: Path) -> None:
    """Trimming stops at the slowest reader and names it, until it has read on or its registration has expired."""
    now = 1000.0
    log = await _log(100, lambda: now)
    slow, quick = Registration(log, "slow", "here"), Registration(log, "quick", "here")
    for reader, position in ((slow, 12), (quick, 90)):
        await reader.begin()
        await reader.advance(position)
    await write(log, tmp_path)
    await check(log, tmp_path)
    trimmed = await trim(log, tmp_path)
    assert (trimmed.up_to, trimmed.removed, trimmed.held_back_by) == (12, 12, "slow")
    await slow.advance(95)
    assert (await trim(log, tmp_path)).held_back_by == "quick"
    now += TERM + 1
    trimmed = await trim(log, tmp_path)
    assert (trimmed.up_to, trimmed.held_back_by) == (100, None)


async def test_a_reader_goes_on_where_it_stopped() -> None:
    """A registration is found again by its owner, refused to others, and forgotten when it is ended."""
    log = await _log(10)
    reader = Registration(log, "export", "here")
    await reader.begin()
    await reader.advance(7)
    again = Registration(log, "export", "here")
    await again.begin()
    assert again.position == 7
    with pytest.raises(LeaseHeld, match="held by here"):
        await Registration(log, "export", "there").begin()
    await again.end()
    anew = Registration(log, "export", "there")
    await anew.begin()
    assert anew.position == 0


async def test_a_changed_file_keeps_everything_in_the_stream(tmp_path: Path) -> None:
    """A segment that is not the recorded one any more is named, and nothing is trimmed."""
    log = await _log(20)
    [segment] = await write(log, tmp_path)
    await check(log, tmp_path)
    segment.path.write_bytes(segment.path.read_bytes() + b"\0")
    with pytest.raises(UserError, match=f"{segment.path.name}: is not the file that was recorded"):
        await trim(log, tmp_path)
    assert (await replay_state(History(log))).n == 21
