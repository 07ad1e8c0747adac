"""Points are found by halving, and are the ones that reading everything from the start would find."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import replay.points
from events.archive import write_segment
from events.errors import LogTruncated, UserError
from events.history import History
from events.log.memory import MemoryLog
from replay.points import find_point
from tests.events.kinds import happened

# Entries of one look in these tests; histories of a hundred events then need several.
LOOK = 16


@pytest.fixture(autouse=True)
def _small_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay.points, "READ_COUNT", LOOK)


async def _log(times: Sequence[float]) -> MemoryLog:
    log = MemoryLog("main")
    await log.append([happened(at=at) for at in times], token=await log.acquire("leader", "node1"))
    return log


def _by_reading(times: Sequence[float], time: float) -> int:
    """Returns the number of the event before the first one that is later."""
    return next((number for number, at in enumerate(times) if at > time), len(times))


# Times that grow, with as many as half a look of events that were recorded out of order.
_times = st.lists(st.integers(0, 5), min_size=1, max_size=150).flatmap(
    lambda steps: st.lists(st.tuples(st.integers(0, len(steps) - 1), st.integers(0, 40)), max_size=LOOK // 2).map(
        lambda early: _delayed([sum(steps[: number + 1]) for number in range(len(steps))], early)
    )
)


def _delayed(times: list[int], early: list[tuple[int, int]]) -> list[int]:
    """Takes some times back by some seconds: what was seen then and recorded later."""
    for place, seconds in early:
        times[place] = max(0, times[place] - seconds)
    return times


@given(times=_times, time=st.integers(-5, 800), trimmed=st.integers(0, 150))
@hypothesis_settings(max_examples=150)
async def test_a_time_leads_to_the_event_before_the_first_later_one(times: list[int], time: int, trimmed: int) -> None:
    """Also where events were recorded late, and where a part of the history lies in an archive."""
    log = await _log(times)
    expected = _by_reading(times, time)
    text = f"@{time}" if time >= 0 else f"1969-12-31T23:59:{60 + time}+00:00"
    with tempfile.TemporaryDirectory() as folder:
        history = History(log, Path(folder))
        for first in range(1, len(times) + 1, 40):
            await write_segment(log, Path(folder), first, min(first + 39, len(times)))
        assert await _found(History(log), text) == expected
        # Where the stream begins with something recorded late, it alone cannot tell what came before.
        cut = min(trimmed, len(times) - 1)
        await log.trim(cut)
        if all(at <= times[cut] for at in times[:cut]):
            assert await _found(history, text) == expected


async def _found(history: History, text: str) -> int:
    try:
        return (await find_point(history, text)).n
    except UserError:
        return 0


async def test_finding_a_point_reads_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a long stream some twenty looks are enough, for a time, an id, a number, and a distance from the end."""
    log = await _log([number // 3 for number in range(20_000)])
    looks = 0
    read = MemoryLog.raw_chunks

    def counted(self: MemoryLog, after: int = 0, *, count: int = 1000) -> object:
        nonlocal looks
        looks += 1
        return read(self, after, count=count)

    monkeypatch.setattr(MemoryLog, "raw_chunks", counted)
    last_id = (await log.head()).last_id
    for text, n in (("@5000", 15_003), ("7", 7), (last_id, 20_000), ("-1000s", 17_001), ("@99999", 20_000)):
        looks = 0
        assert (await find_point(History(log), text)).n == n
        assert looks <= 20


async def test_a_point_before_the_stream_needs_the_archive(tmp_path: Path) -> None:
    """A time that lies before what the stream still has is found in the archive, and refused without it."""
    log = await _log(range(100))
    await write_segment(log, tmp_path, 1, 60)
    await log.trim(60)
    assert (await find_point(History(log, tmp_path), "@20")).n == 21
    assert (await find_point(History(log, tmp_path), "20")).at == 19
    for text in ("@20", "20"):
        with pytest.raises(LogTruncated):
            await find_point(History(log), text)
    assert (await find_point(History(log), "@60")).n == 61


async def test_before_everything_there_is_no_point() -> None:
    """A point before the first event is refused, and so is every point of an empty log."""
    log = await _log([10, 20])
    for text in ("@5", "0"):
        with pytest.raises(UserError, match=f"no event up to '{text}'"):
            await find_point(History(log), text)
    for text in ("@5", "-5m", "7"):
        with pytest.raises(UserError, match="no event"):
            await find_point(History(MemoryLog("empty")), text)
