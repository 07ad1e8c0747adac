"""How commands end that are not let to their end, and what they print where there is no terminal."""

import argparse
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO

import pytest

from haes.cli.commands import COMMANDS
from haes.cli.main import build_parser
from tests.cli.running import LIMIT, haes, refused

ROOT = Path(__file__).parent.parent.parent
# Bytes of the smallest pipe: the journal of a demonstration is longer, so its writer waits for us.
SMALL_PIPE = 4096
INTERRUPTED = 130


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provides a folder in which the demonstration can run."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@contextmanager
def _demonstration(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", IO[str]]]:
    """Starts a demonstration that goes on only as far as its output is read."""
    if not hasattr(fcntl, "F_SETPIPE_SZ"):
        pytest.skip("this system's pipes cannot be made small")
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SMALL_PIPE)
    process = subprocess.Popen(
        [sys.executable, "-m", "haes.cli.main", "demo"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    os.close(writing)
    with process, os.fdopen(reading, encoding="utf-8") as output:
        try:
            yield process, output
        finally:
            process.kill()


def _assert_nobody_is_left(folder: Path) -> None:
    """The server holds the lock of its folder as long as it lives, so a free lock means that it is gone."""
    with (folder / "var" / "demo" / "redis.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_demonstration_leaves_no_server(folder: Path) -> None:
    """After the last line the private server has ended, too."""
    haes("demo", folder=folder)
    _assert_nobody_is_left(folder)


def test_ctrl_c_is_clean(folder: Path) -> None:
    """An interrupted demonstration says nothing, leaves no server, and does not spoil the next one."""
    with _demonstration(folder) as (process, output):
        assert any("starting simulation" in line for line in iter(output.readline, ""))
        process.send_signal(signal.SIGINT)
        output.read()
        _, error = process.communicate(timeout=LIMIT)
    assert (process.returncode, error) == (INTERRUPTED, "")
    _assert_nobody_is_left(folder)
    assert "Try next:" in haes("demo", folder=folder)[0]


def test_a_reader_that_goes_away_is_no_failure(folder: Path) -> None:
    """`haes demo | head -1` ends well, silently, and leaves no server."""
    with _demonstration(folder) as (process, output):
        output.readline()
        output.close()
        _, error = process.communicate(timeout=LIMIT)
    assert (process.returncode, error) == (0, "")
    _assert_nobody_is_left(folder)


def test_what_to_try_next_works(folder: Path) -> None:
    """The commands that a demonstration names at its end can be typed as they stand."""
    output, _ = haes("demo", folder=folder)
    lines = [line.split() for line in output.partition("Try next:\n")[2].splitlines()]
    assert [line[:2] for line in lines] == [[".venv/bin/haes", "simulate"], [".venv/bin/haes", "replay"]]
    assert "auto rebalance" in haes(*lines[0][1:], folder=folder)[0]
    assert json.loads(haes(*lines[1][1:], folder=folder)[0])["leader"] == "node1"


def test_tables_are_whole_however_narrow_the_window_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell is cut short, in a narrow window as in none; nothing is coloured where there is no terminal."""
    haes("demo", folder=folder)
    words = ("replay", "--log", "embedded:var/demo", "--cluster", "demo")
    wide, _ = haes(*words, folder=folder)
    monkeypatch.setenv("COLUMNS", "20")
    assert haes(*words, folder=folder)[0] == wide
    assert "is on node1" in wide
    assert "…" not in wide
    assert "\x1b" not in wide


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "COMMAND"),
        (["bogus"], "bogus"),
        (["simulate"], "DIR"),
        (["replay", "--log"], "--log"),
        (["replay", "--colour"], "--colour"),
        (["rules", "bogus"], "bogus"),
        (["rules", "check", "file"], "--nodes"),
        (["explain", "--motion", "first"], "first"),
    ],
)
def test_a_wrong_command_line_is_one_line(words: list[str], named: str) -> None:
    """What cannot even be parsed is refused like everything else, and says where the help is."""
    error = refused(*words)
    assert named in error
    assert "--help" in error


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_every_command_explains_itself(command: list[str]) -> None:
    """`--help` works everywhere."""
    assert "usage: haes" in haes(*command, "--help")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_table_says(name: str) -> None:
    """The module of the table builds a parser of that name, which knows what to run."""
    parser = build_parser(name)
    [subparsers] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    assert name in subparsers.choices
    assert COMMANDS[name].summary in " ".join(build_parser().format_help().split())


def test_the_version_is_that_of_the_package() -> None:
    """`--version` says what is installed."""
    assert haes("--version")[0] == f"haes {version('haes')}\n"
