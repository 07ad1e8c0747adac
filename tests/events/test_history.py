"""A history: stream and archive read as one, from any point to any other, and nothing but what was recorded."""

import gzip
import itertools
import re
import tempfile
from pathlib import Path

import msgpack
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from events.archive import check_segment, digest, read_segment, segments_in, write_segment
from events.codec import N
from events.embedded import EmbeddedRedis
from events.errors import EntryCorrupt, LogTruncated, LogUnavailable, UserError
from events.history import History
from events.log.checks import number_of
from events.log.memory import MemoryLog
from events.log.port import EventLog, RawEntry
from events.log.redis import RedisLog
from events.log.redis_bulk import BULK_COUNT
from events.log.redis_keys import keys_of
from replay.points import find_point
from tests.events.hands import MemoryHands
from tests.events.kinds import many


async def _log(count: int) -> MemoryLog:
    log = MemoryLog("main")
    await log.append(many(count), token=await log.acquire("leader", "node1"))
    return log


async def _read(history: History, after: int = 0, last: int | None = None) -> list[RawEntry]:
    return [(entry_id, list(flat)) async for chunk in history.chunks(after, last) for entry_id, flat in chunk]


@given(data=st.data())
@hypothesis_settings(max_examples=40)
async def test_any_stretch_is_read_whole(data: st.DataObject) -> None:
    """However segments overlap and wherever the stream begins, every stretch is what was once on the stream."""
    total = 60
    log = await _log(total)
    whole = await _read(History(log))
    cuts = [0, *sorted(data.draw(st.sets(st.integers(1, total), max_size=4))), total]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for begin, end in itertools.pairwise(cuts):
            if begin < end:
                # Some begin before the end of the one before.
                await write_segment(log, folder, max(1, begin + 1 - data.draw(st.integers(0, 5))), end)
        await log.trim(data.draw(st.integers(0, total)))
        after, last = data.draw(st.integers(0, total)), data.draw(st.none() | st.integers(0, total + 5))
        recorded = {segment.path.name: digest(segment) for segment in segments_in(folder)}
        history = History(log, folder, data.draw(st.sampled_from([None, recorded])))
        assert await _read(history, after, last) == whole[after:last]
        assert [event.n async for event in history.events(after, last)] == list(range(1, total + 1))[after:last]


async def test_what_is_nowhere_is_named(tmp_path: Path) -> None:
    """An event that neither the stream nor a segment has is named with the folder; what comes before it is read."""
    log = await _log(100)
    await write_segment(log, tmp_path, 1, 30)
    await write_segment(log, tmp_path, 41, 60)
    await log.trim(60)
    chunks = History(log, tmp_path).chunks()
    assert [int(flat[N]) for _, flat in await anext(chunks)] == list(range(1, 31))
    with pytest.raises(LogTruncated, match=f"event 31 is neither in the stream nor in a segment of {tmp_path}"):
        await anext(chunks)
    with pytest.raises(LogTruncated, match="event 1 is not in the stream any more"):
        await _read(History(log))
    assert len(await _read(History(log), 60)) == 40


async def test_only_recorded_files_are_read(tmp_path: Path) -> None:
    """A segment without a record, or whose file is another one by now, is refused by name before it is read."""
    log = await _log(50)
    segment = await write_segment(log, tmp_path, 1, 40)
    await log.trim(40)
    with pytest.raises(UserError, match=f"{segment.path.name}: the log has no record"):
        await _read(History(log, tmp_path, {}))
    recorded = {segment.path.name: digest(segment)}
    assert len(await _read(History(log, tmp_path, recorded))) == 50
    segment.path.write_bytes(gzip.compress(gzip.decompress(segment.path.read_bytes()), 1))
    assert len(await _read(History(log, tmp_path))) == 50
    with pytest.raises(UserError, match=f"{segment.path.name}: is not the file that was recorded"):
        await _read(History(log, tmp_path, recorded))


async def test_segments_of_the_first_format_are_read(tmp_path: Path) -> None:
    """Files whose entries are not in blocks, as they were written at first, yield the same."""
    log = await _log(20)
    entries = await _read(History(log))
    segment = await write_segment(log, tmp_path, 1, 20)
    values = [["haes-segment", 1, (await log.head()).log_id, 1, 20], *entries]
    segment.path.write_bytes(gzip.compress(b"".join(msgpack.packb(value) for value in values)))
    assert [(entry_id, list(flat)) for entry_id, flat in read_segment(segment)] == entries


async def test_a_segment_that_lacks_an_entry_is_found(tmp_path: Path) -> None:
    """A block without one of its entries is refused, though the file is whole and its name right."""
    log = await _log(20)
    entries = await _read(History(log))
    segment = await write_segment(log, tmp_path, 1, 20)
    del entries[7]
    values = [["haes-segment", 2, (await log.head()).log_id, 1, 20], msgpack.packb(entries)]
    segment.path.write_bytes(gzip.compress(b"".join(msgpack.packb(value) for value in values)))
    with pytest.raises(UserError, match=f"{segment.path.name}: event 1 or one soon after it is missing"):
        list(read_segment(segment))


async def test_a_foreign_entry_is_told_by_whoever_decodes_it() -> None:
    """An entry that somebody else wrote ends the decoded history after what was good, and is named."""
    hands = MemoryHands()
    token = await hands.log.acquire("leader", "node1")
    await hands.log.append(many(3), token=token)
    await hands.write("9999999999999-4", [b"temperature", b"20"])
    events = _with_head(hands.log, 4).events()
    assert [(await anext(events)).n for _ in range(3)] == [1, 2, 3]
    with pytest.raises(EntryCorrupt, match="was not written by HAES"):
        await anext(events)


def _with_head(log: MemoryLog, n: int) -> History:
    """Returns the history of a log that says it ends at a number."""
    head = log._known_head()
    log._head = type(head)(head.log_id, head.generation, n, head.last_id)
    return History(log)


async def _filled(server: EmbeddedRedis, count: int) -> EventLog:
    log = RedisLog(server.url, "main")
    await log.open()
    await log.append(many(count), token=await log.acquire("leader", "node1"))
    return log


@pytest.mark.parametrize("count", [1, BULK_COUNT - 1, BULK_COUNT, BULK_COUNT + 1, 3 * BULK_COUNT])
async def test_bulk_reading_yields_the_same(server: EmbeddedRedis, count: int) -> None:
    """Over its own connection every entry comes once, whatever the number of requests, from any start."""
    log = await _filled(server, count)
    try:
        for after in (0, 1, count // 2, count - 1, count):
            raw = [entry async for chunk in log.raw_chunks(after) for entry in chunk]
            assert [entry async for chunk in log.bulk_chunks(after) for entry in chunk] == raw
            assert len(raw) == count - after
    finally:
        await log.close()


async def test_a_server_that_goes_away_during_bulk_reading_is_said_so(server: EmbeddedRedis) -> None:
    """When the connection breaks, reading ends with the log's name, not with what was read as if it were all."""
    log = await _filled(server, 5 * BULK_COUNT)
    try:
        chunks = log.bulk_chunks()
        assert len(await anext(chunks)) == BULK_COUNT
        await server.stop()
        with pytest.raises(LogUnavailable, match=re.escape(server.url)):
            [chunk async for chunk in chunks]
    finally:
        await log.close()


async def _meddled(server: EmbeddedRedis) -> RedisLog:
    """Returns a log of five events with somebody's entries before, between and behind them."""
    log = RedisLog(server.url, "main")
    await log.open()
    token = await log.acquire("leader", "node1")
    for count in (3, 2):
        await log.append(many(count), token=token)
        await log._server.execute("XADD", keys_of("main").events, "*", "temperature", "20")
    return log


async def test_stand_ins_take_the_place_of_what_cannot_be_understood(server: EmbeddedRedis) -> None:
    """A lenient history goes on behind a foreign entry, and numbers, ends and cuts are those of the events."""
    log = await _meddled(server)
    try:
        history = History(log, lenient=True)
        assert [event.n async for event in history.events()] == [1, 2, 3, 3, 4, 5, 5]
        assert [event.n async for event in history.events(3, 3)] == []
        assert [event.n async for event in history.events(3, 4)] == [3, 4]
        assert [event.n async for event in history.events(4)] == [5, 5]
        assert (await find_point(history, "5")).n == 5
        with pytest.raises(EntryCorrupt):
            [event async for event in History(log).events()]
    finally:
        await log.close()


async def test_what_is_no_event_is_not_archived(server: EmbeddedRedis, tmp_path: Path) -> None:
    """Somebody's entry in the stream keeps nothing from being archived, checked and trimmed."""
    log = await _meddled(server)
    try:
        segment = await write_segment(log, tmp_path, 1, 5)
        assert await check_segment(log, segment) == digest(segment)
        assert [number_of(entry) for entry in read_segment(segment)] == [1, 2, 3, 4, 5]
    finally:
        await log.close()
