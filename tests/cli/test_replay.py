"""`haes replay` as a user sees it: playing, walking by lines and by keys, and what goes together."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import LIMIT, SCENARIOS, haes, refused


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Provides the URL of a log that holds the story of fa109."""
    url = f"embedded:{tmp_path_factory.mktemp('replay') / 'log'}"
    haes("simulate", SCENARIOS / "fa109", "--set", "ha-auto-rebalance-backoff=series", "--log", url)
    return url


def _walk(log: str, wishes: str, *words: str, status: int = 0) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "haes.cli.main", "replay", "--step", "--log", log, *words],
        input=wishes,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout, done.stderr


def test_a_stretch_is_played(log: str) -> None:
    """The journal from one point to another comes out as it was, from the first event at the one to the last at the other."""
    whole, _ = haes("simulate", SCENARIOS / "fa109", "--set", "ha-auto-rebalance-backoff=series")
    expected = [line for line in whole.splitlines() if 240 <= int(line.split()[1]) <= 263]
    assert haes("replay", "--from", "@240", "--until", "@263", "--log", log)[0].splitlines() == expected
    assert haes("replay", "--speed", "max", "--log", log)[0] == whole
    assert (
        haes("replay", "--from", "@240", "--until", "@263", "--speed", "1000", "--log", log)[0].splitlines() == expected
    )


def test_a_played_stretch_is_data_too(log: str) -> None:
    """With --json every event that the journal has a line for is an object on a line of its own; -60s is a point."""
    rows = [json.loads(line) for line in haes("replay", "--from", "-60s", "--json", "--log", log)[0].splitlines()]
    assert [(row["type"], row["at"]) for row in rows] == [("simulation.ended", 620)]
    assert "exit simulation" in rows[0]["journal"][0]


def test_a_walk_by_lines_shows_what_each_event_changed(log: str) -> None:
    """Next, so many, next of a subject and quit: each shows exactly the events asked for, with old and new values."""
    rows = [json.loads(line) for line in _walk(log, "\n2\ns vm:102\nq\nn\n", "--from", "85", "--json")[0].splitlines()]
    assert [(row["n"], row["subject"]) for row in rows] == [
        (85, "fa:109"),
        (86, "balance"),
        (87, "fa:109"),
        (90, "vm:102"),
    ]
    assert {"group": "resource", "name": "fa:109", "field": "state", "change": "changed", "old": "relocate",
            "new": "started"} in rows[0]["changes"]  # fmt: skip
    text, _ = _walk(log, "n\n", "--from", "85")
    assert "      changed  state: relocate -> started" in text.splitlines()


def test_a_walk_ends_with_the_stream(log: str) -> None:
    """At the end of the stretch the walk says so; a subject that does not come again is said, too."""
    text, _ = _walk(log, "1000\nn\n", "--from", "110", "--until", "112")
    assert [line.split()[0] for line in text.splitlines() if line[:1].isdigit()] == ["110", "111", "112"]
    assert text.endswith("the walk ends here\n")
    _, error = _walk(log, "s vm:999\n")
    assert error == "there is no further event about vm:999\n"


def test_a_line_that_asks_for_nothing_there_is_named(log: str) -> None:
    """A command that cannot be understood ends the walk with what can."""
    for line in ("back", "0", "s", "n x", "-3"):
        _, error = _walk(log, f"{line}\n", status=2)
        assert (
            error
            == f"haes: cannot understand '{line}' in the input of --step; expected n, a number of events, s SUBJECT, or q\n"
        )


def test_a_walk_in_a_terminal_goes_by_keys(log: str) -> None:
    """Space, a count, s with a subject (one letter taken back), and q do what the line under the cursor says."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "haes.cli.main", "replay", "--step", "--from", "85", "--log", log],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    try:
        for shown, keys in (
            (b"q: quit > ", b" "),
            (b"85  180 s", b""),
            (b"q: quit > ", b"2"),
            (b"> 2", b"\n"),
            (b"87  181 s", b""),
            (b"q: quit > ", b"svm:10x\x7f2\n"),
            (b"90  240 s", b""),
            (b"q: quit > ", b"q"),
        ):
            _read_until(ours, shown)
            os.write(ours, keys)
        assert process.wait(LIMIT) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.communicate()
        os.close(ours)


def _read_until(terminal: int, text: bytes) -> None:
    said = b""
    while text not in said:
        assert select.select([terminal], [], [], LIMIT)[0], said
        # Letter by letter, so that what comes after is left for the next look.
        said += os.read(terminal, 1)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--speed", "fast"], "a number from 0 on, or max"),
        (["--speed", "-1"], "a number from 0 on, or max"),
        (["--speed", "inf"], "a number from 0 on, or max"),
        (["--at", "5", "--from", "3"], "--at"),
        (["--at", "5", "--step"], "--at"),
        (["--step", "--speed", "2"], "--step"),
        (["--from", "yesterday"], "yesterday"),
        (["--until", "0"], "no event up to '0'"),
    ],
)
def test_what_does_not_go_together_is_refused(log: str, words: list[str], named: str) -> None:
    """One line names the option and what is allowed."""
    assert named in refused("replay", "--log", log, *words)


def test_playing_and_walking_need_events(tmp_path: Path) -> None:
    """A cluster without events is said to have none, whatever is to be done with them."""
    for words in (["--from", "1"], ["--step"]):
        assert "cluster 'main' has no events" in refused("replay", "--log", "memory:", *words)
