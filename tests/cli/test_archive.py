"""`haes archive`: write, check, trim, as separate processes on a real server."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import SCENARIOS, haes, refused

SCENARIO = SCENARIOS / "fa109"


@pytest.fixture
def log(tmp_path: Path) -> tuple[str, ...]:
    """Provides the options of a log that a simulation has written."""
    options = ("--log", f"embedded:{tmp_path / 'log'}", "--cluster", "test")
    haes("simulate", SCENARIO, *options)
    return options


def test_nothing_is_trimmed_before_it_was_read_back(tmp_path: Path, log: tuple[str, ...]) -> None:
    """Trimming takes only what another process has compared and recorded, and the record of a file is its digest."""
    folder = tmp_path / "archive"

    def rows(step: str) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = json.loads(haes("archive", step, folder, "--json", *log)[0])
        return result

    written = rows("write")
    assert [row["first"] for row in written] == [1]
    assert rows("trim") == [{"up to": 0, "removed": 0}]
    assert len(rows("check")) == 1
    assert rows("check") == []
    assert rows("trim") == [{"up to": written[0]["last"], "removed": written[0]["last"]}]
    assert rows("list")[0]["recorded"] is True


def test_a_file_that_changed_after_it_was_recorded_stops_the_trimming(tmp_path: Path, log: tuple[str, ...]) -> None:
    """A recorded segment whose file is another one is named, and the stream keeps its events."""
    folder = tmp_path / "archive"
    haes("archive", "write", folder, *log)
    haes("archive", "check", folder, *log)
    segment = next(folder.iterdir())
    segment.write_bytes(segment.read_bytes() + b"\0")
    assert segment.name in refused("archive", "trim", folder, *log)
