"""Commands start quickly, because each loads only what it uses."""

import subprocess
import sys

import pytest

from haes.cli.commands import COMMANDS
from tests.cli.running import LIMIT

# What takes long to load, and who uses it as soon as it starts.
HEAVY = ("numpy", "rich", "haes.scheduling")
# The loads of nodes have a shape that both a status and the scheduling know; it brings nothing with it.
LIGHT = ("haes.scheduling", "haes.scheduling.stats")
DECIDES = {"manager", "simulate", "demo", "plan"}
SHOWS_TABLES = {
    *(
        "up",
        "status",
        "events",
        "readers",
        "parked",
        "rebalance",
        "audit",
        "replay",
        "import",
        "demo",
        "log",
        "settings",
    ),
    *("config", "commands"),
}
# Starts a command as far as its help, then names what was loaded.
STARTED = """
import contextlib, io, sys
from haes.cli.main import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(sys.argv[1:])
print(*sys.modules, sep="\\n")
"""


def _loaded(*words: str) -> set[str]:
    """Returns the heavy parts that a command line loads."""
    command = [sys.executable, "-c", STARTED, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    modules = set(done.stdout.split()) - set(LIGHT)
    assert "haes.cli.main" in modules
    return {heavy for heavy in HEAVY if any(name == heavy or name.startswith(f"{heavy}.") for name in modules)}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_no_command(option: str) -> None:
    """What says which commands there are loads none of them."""
    assert _loaded(option) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_loads_what_it_uses(name: str) -> None:
    """Numpy and the scheduling come with what decides, rich with what shows tables, and with nothing else."""
    allowed = {"numpy", "haes.scheduling"} if name in DECIDES else set()
    allowed |= {"rich"} if name in SHOWS_TABLES else set()
    assert _loaded(name, "--help") <= allowed
