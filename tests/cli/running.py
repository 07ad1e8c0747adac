"""Runs commands as a user does: as processes of their own."""

import subprocess
import sys
from pathlib import Path

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "data"
# Seconds for one command, server start included.
LIMIT = 60


def haes(*words: str | Path, status: int = 0, folder: Path | None = None) -> tuple[str, str]:
    """Runs a command and returns what it printed on both channels; its status must be the given one."""
    done = subprocess.run(
        [sys.executable, "-m", "haes.cli.main", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        cwd=folder,
    )
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout, done.stderr


def refused(*words: str | Path) -> str:
    """Runs a command that must end in one clear line with status 2, and returns that line."""
    _, error = haes(*words, status=2)
    assert error.startswith("haes: "), error
    assert error.count("\n") == 1, error
    return error
