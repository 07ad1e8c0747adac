"""The model of leases in docs/model: nothing that it forbids can be reached, and it sees the faults that are put back."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).parent.parent.parent / "docs" / "model" / "leases.pml"
# Steps of one story at most; a story that is longer would be cut off, which the checker says.
DEPTH = 100_000
# Seconds for one run, on a machine that is busy with other tests: alone it takes a tenth of that.
RUN_LIMIT = 100.0
# Megabytes that the checker may use: ten times what the largest of these runs needs.
MEMORY = 3_000
INSTALL = "apt-get install spin gcc"

pytestmark = [
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in ("spin", "gcc")), reason=f"the model needs its checker: {INSTALL}"
    ),
    pytest.mark.timeout(2 * RUN_LIMIT),
]


def _check(folder: Path, *defined: str) -> str:
    """Returns what the checker says of the model in which some names are defined."""

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_LIMIT, check=False)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    run("spin", "-a", *(f"-D{name}" for name in defined), str(MODEL))
    # The generated program compiles with warnings of its own.
    run("gcc", "-O2", "-w", "-DSAFETY", f"-DMEMLIM={MEMORY}", "-o", "pan", "pan.c")
    return run("./pan", f"-m{DEPTH}")


def test_no_order_of_steps_breaks_a_promise(tmp_path: Path) -> None:
    """Every reachable state was looked at: no service on two nodes, no decision without the leader's current token."""
    said = _check(tmp_path)
    assert "errors: 0" in said
    assert "max search depth too small" not in said
    assert "Search not completed" not in said
    states = re.search(r"(\d+) states, stored", said)
    assert states is not None
    assert int(states[1]) > 500_000
    # Nothing holds only because a step can never be taken; the loops have no end.
    unreached = re.findall(r"leases\.pml:\d+, state \d+, \"(.+)\"", said)
    assert [step for step in unreached if step != "-end-"] == []


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        ("OWN_LEASE", "holder==m"),
        ("NO_PROOF", "(runs[0]&&runs[1])"),
        ("NO_WATCHDOG", "(runs[0]&&runs[1])"),
        ("OLD_LEASES", "(runs[0]&&runs[1])"),
    ],
)
def test_a_fault_that_is_put_back_is_found(tmp_path: Path, fault: str, promise: str) -> None:
    """With a wrong lease, without proof, watchdog or a second look the very promise breaks that it endangers."""
    said = _check(tmp_path, fault, *(["AGENTS=3"] if fault == "OLD_LEASES" else []))
    broken = re.search(r"assertion violated (.*)", said)
    assert broken is not None
    assert promise in broken[1]
