"""The archive: old events in files that read like the stream, and trimming only what is safe."""

from pathlib import Path

import pytest

from events.archive import (
    Segment,
    check_segment,
    digest,
    read_segment,
    segments_in,
    write_segment,
)
from events.errors import LogTruncated, UserError
from events.history import History
from events.log.memory import MemoryLog
from events.log.port import RawEntry
from tests.events.kinds import many


async def _log(count: int) -> MemoryLog:
    log = MemoryLog("main")
    await log.append(many(count), token=await log.acquire("leader", "node1"))
    return log


async def _history(log: MemoryLog, folder: Path | None, after: int = 0) -> list[RawEntry]:
    chunks = History(log, folder).chunks(after)
    return [(entry_id, list(flat)) async for chunk in chunks for entry_id, flat in chunk]


async def test_a_segment_reads_back_as_the_stream(tmp_path: Path) -> None:
    """What a segment yields is what the stream held, and checking it returns the file's digest."""
    log = await _log(2500)
    segment = await write_segment(log, tmp_path, 1, 2000)
    assert [list(entry) for entry in read_segment(segment)] == [
        [entry_id, list(flat)] for entry_id, flat in (await _history(log, None))[:2000]
    ]
    assert await check_segment(log, segment) == digest(segment)
    assert segments_in(tmp_path) == [segment]


@pytest.mark.parametrize("after", [0, 1, 1500, 2000, 2400])
async def test_history_goes_on_from_files_to_the_stream(tmp_path: Path, after: int) -> None:
    """After trimming, archive and stream together still yield every event once, from any point on."""
    log = await _log(2500)
    whole = await _history(log, None)
    await write_segment(log, tmp_path, 1, 900)
    await write_segment(log, tmp_path, 901, 2000)
    await log.trim(2000)
    assert await _history(log, tmp_path, after) == whole[after:]
    with pytest.raises(LogTruncated, match="event 1 "):
        await _history(log, None)


async def test_a_changed_segment_is_found(tmp_path: Path) -> None:
    """A segment that was cut, changed or belongs to another log is refused by name."""
    log = await _log(50)
    segment = await write_segment(log, tmp_path, 1, 40)
    with pytest.raises(UserError, match="another log"):
        await check_segment(await _log(50), segment)
    whole = segment.path.read_bytes()
    segment.path.write_bytes(whole[:-30])
    with pytest.raises(UserError, match=segment.path.name):
        await check_segment(log, segment)
    renamed = Segment(1, 39, tmp_path / "000000000001-000000000039.haes.gz")
    renamed.path.write_bytes(whole)
    with pytest.raises(UserError, match="not what its name says"):
        await check_segment(log, renamed)


async def test_only_whole_segments_appear(tmp_path: Path) -> None:
    """A segment that cannot be completed leaves no file behind."""
    log = await _log(10)
    with pytest.raises(LogTruncated):
        await write_segment(log, tmp_path, 1, 11)
    assert not segments_in(tmp_path)
    assert not list(tmp_path.glob("*"))
