"""Registered readers as people use them: they go on where they stopped, and nothing is trimmed before they have read."""

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


def test_a_reader_sees_every_event_once_and_holds_the_rest_back(tmp_path: Path, log: tuple[str, ...]) -> None:
    """What a run printed the next one does not; trimming stops there and names the reader, until it is forgotten."""
    folder = tmp_path / "archive"
    lines = haes("events", "--reader", "export", "--json", *log)[0].splitlines()
    numbers = [json.loads(line)["n"] for line in lines]
    assert numbers == list(range(1, len(numbers) + 1))
    assert haes("events", "--reader", "export", "--json", *log)[0] == ""
    assert json.loads(haes("readers", "--json", *log)[0]) == [{"reader": "export", "read": len(numbers), "behind": 0}]
    for step in 3 * ("write", "check"):
        haes("archive", step, folder, *log)
    [trimmed] = json.loads(haes("archive", "trim", folder, "--json", *log)[0])
    assert trimmed == {"up to": len(numbers), "removed": len(numbers), "held back by": "export"}
    # Its last event was trimmed; the next one is there.
    [line] = haes("events", "--reader", "export", "--type", "archive.written", "--json", *log)[0].splitlines()[:1]
    assert json.loads(line)["n"] == len(numbers) + 1
    assert "nobody is registered" in haes("readers", "forget", "export", *log)[0]


def test_what_makes_no_sense_is_refused(log: tuple[str, ...]) -> None:
    """A reader who does not exist, and options that contradict each other, are named."""
    assert "there is no reader 'nobody'" in refused("readers", "forget", "nobody", *log)
    assert "expected 'list', or 'forget NAME'" in refused("readers", "forget", *log)
    assert "--since" in refused("events", "--reader", "x", "--since", "5", *log)
