"""The page on replay shows what its commands really print, and its conditions are conditions."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.language import compile_condition
from tests.cli.running import LIMIT, haes

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n\$ (.*)\n((?:.*\n)*?)```", PAGE)
CONDITIONS = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Provides a folder with the log that the demonstration leaves behind."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(ROOT / "examples", folder / "examples")
    haes("demo", folder=folder)
    return folder


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_examples_are_real(folder: Path, command: str, shown: str) -> None:
    """Each command on the page, typed as it stands, prints what the page shows."""
    environment = os.environ | {
        "HAES_LOG": "embedded:var/demo",
        "HAES_CLUSTER": "demo",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    printed = [line.rstrip() for line in (done.stdout + done.stderr).strip("\n").splitlines()]
    assert printed == shown.splitlines()


def test_examples_were_found() -> None:
    """The page is read as it is meant: every kind of question has its example."""
    words = {word for command, _ in EXAMPLES for word in command.split()}
    assert {"replay", "diff", "bisect", "explain", "whatif", "verify", "--step", "--motion", "--quiet-since"} <= words
    assert len(CONDITIONS) == 6


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_can_be_used(text: str) -> None:
    """Each condition on the page is one that the language accepts."""
    assert compile_condition(text).text == text
