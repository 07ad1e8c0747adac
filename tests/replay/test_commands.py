"""Questions about the past on the command line: snapshots are made there, and archives read as if never trimmed."""

import json
from pathlib import Path

import pytest

from tests.cli.running import SCENARIOS, haes, refused


@pytest.fixture
def log(tmp_path: Path) -> tuple[str, ...]:
    """Provides the options of a log that a simulation has written."""
    options = ("--log", f"embedded:{tmp_path / 'log'}", "--cluster", "test")
    haes("simulate", SCENARIOS / "fa109", *options)
    return options


# What is asked before and after the stream was trimmed. A point before the archive's own records.
QUESTIONS = (
    ("replay", "--at", "40", "--json"),
    ("explain", "fa:109", "--at", "@120"),
    ("explain", "--motion", "1"),
    ("explain", "--quiet-since", "@80", "--at", "@900"),
)


def test_a_trimmed_stream_answers_as_before(tmp_path: Path, log: tuple[str, ...]) -> None:
    """With the archive every answer is the one from before trimming; without it the gap is named."""
    folder = tmp_path / "archive"
    before = [haes(*question, *log)[0] for question in QUESTIONS]
    removed = 0
    for _ in range(3):
        for step in ("write", "check", "trim"):
            rows = json.loads(haes("archive", step, folder, "--json", *log)[0])
            assert rows, step
        removed += rows[0]["removed"]
    assert removed > 118
    # By now the record of the first segment is in the archive itself.
    assert [haes(*question, "--archive", folder, *log)[0] for question in QUESTIONS] == before
    assert "0 findings" in haes("verify", "--archive", folder, *log)[0]
    assert "event 40 is not in the stream any more" in refused("replay", "--at", "40", *log)
    assert "no such folder" in refused("replay", "--archive", tmp_path / "nowhere", *log)
    segment = min(folder.iterdir())
    segment.write_bytes(segment.read_bytes() + b"\0")
    assert "SHA-256" in refused("replay", "--at", "40", "--archive", folder, *log)


def test_so_long_before_the_end_is_a_point(log: tuple[str, ...]) -> None:
    """A distance from the end, which begins with a dash, names the same point as the time that it means."""
    end = json.loads(haes("replay", "--json", *log)[0])["at"]
    then = haes("replay", "--at", f"@{end - 120:g}", "--json", *log)[0]
    assert json.loads(then)["at"] <= end - 120
    assert haes("replay", "--at", "-2m", "--json", *log)[0] == then
    assert haes("replay", "--at=-120s", "--json", *log)[0] == then


def test_snapshots_are_made_on_demand(log: tuple[str, ...]) -> None:
    """The command says where snapshots are, replays say the same with them, and a wrong spacing is refused."""
    before = haes("replay", "--at", "77", "--json", *log)[0]
    numbers = json.loads(haes("replay", "--write-snapshots", "30", "--json", *log)[0])["snapshots"]
    assert numbers[:3] == [30, 60, 90]
    assert haes("replay", "--at", "77", "--json", *log)[0] == before
    assert f"{len(numbers)} snapshots compared with the fold" in haes("verify", *log)[0]
    assert "from 1 on" in refused("replay", "--write-snapshots", "0", *log)
    assert "--at" in refused("replay", "--write-snapshots", "--at", "5", *log)
