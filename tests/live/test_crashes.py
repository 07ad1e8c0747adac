"""A process that a fault of the program ends does not begin again and again without a word."""

import asyncio
import logging
from pathlib import Path

import pytest

from haes.bounds import read_json
from haes.live import crashes
from haes.live.crashes import Crashes


def _fail(text: str) -> Exception:
    try:
        read_json(text)
    except ValueError as error:
        return error
    raise AssertionError


async def _waited(caplog: pytest.LogCaptureFixture, file: Path) -> tuple[float, list[str]]:
    """Returns how long a process waits before it begins, and what it says."""
    asked: list[float] = []

    async def pause(_stop: asyncio.Event, seconds: float) -> None:
        asked.append(seconds)

    caplog.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crashes, "pause_unless", pause)
        await Crashes(file, "manager").wait(asyncio.Event())
    return sum(asked), [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


async def test_the_same_end_again_waits_longer_each_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each end at the same place doubles the wait, up to a bound, and is one line; another place begins anew."""
    file = tmp_path / "manager.crashes"
    assert await _waited(caplog, file) == (0.0, [])
    waits = []
    for times in range(1, 10):
        said = Crashes(file, "manager").record(_fail("{"))
        assert (said is None) == (times == 1)
        seconds, lines = await _waited(caplog, file)
        waits.append(seconds)
        [line] = lines
        assert f"ended {times} times in a row at haes/bounds.py:" in line
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert Crashes(file, "manager").record(_fail("[" * 100_000)) is None
    assert (await _waited(caplog, file))[0] == 1.0
    Crashes(file, "manager").clear()
    assert (await _waited(caplog, file))[0] == 0.0


async def test_whoever_waits_after_an_end_leaves_at_once(tmp_path: Path) -> None:
    """The wait ends when the process is to leave."""
    file = tmp_path / "manager.crashes"
    for _ in range(9):
        Crashes(file, "manager").record(_fail("{"))
    stop = asyncio.Event()
    stop.set()
    async with asyncio.timeout(1):
        await Crashes(file, "manager").wait(stop)
