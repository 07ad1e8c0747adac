"""Every scenario's journal comes out to the byte, and journal and state follow from the stream alone."""

import argparse
from pathlib import Path

import pytest

from haes.cli.main import main
from haes.cli.simulate import _run_one
from tests.scenarios.sample import DATA, PAIRS, SETTINGS, load

# The whole corpus runs in so many parts, so that workers can share it.
PARTS = 8
# How many journals the whole corpus holds, of each kind.
WHOLE = {"log.expect": 424, "log.time": 120, "log.series": 150}
# A few scenarios that together use most of what the core does, for the slower log.
ON_REDIS = [pair for number, pair in enumerate(PAIRS) if number % 18 == 0]


async def _differences(log: str, name: str, log_name: str) -> None:
    options = argparse.Namespace(log=log, verify=True)
    outcome = await _run_one(options, load(name, log_name), "scenario")
    expected = (DATA / name / log_name).read_text(encoding="utf-8").splitlines()
    assert outcome.lines == expected
    assert outcome.problems == []


@pytest.mark.parametrize(("name", "log_name"), PAIRS)
async def test_a_journal_comes_out_to_the_byte(name: str, log_name: str) -> None:
    """The run prints the expected journal, and the stream alone leads to the same journal and state."""
    await _differences("memory:", name, log_name)


@pytest.mark.parametrize(("name", "log_name"), ON_REDIS)
async def test_a_journal_does_not_depend_on_the_kind_of_log(name: str, log_name: str, tmp_path: Path) -> None:
    """On a Redis stream the journal and the state are those of the log in memory."""
    await _differences(f"embedded:{tmp_path}", name, log_name)


@pytest.mark.parametrize("log_name", SETTINGS)
@pytest.mark.parametrize("part", range(PARTS))
def test_the_whole_corpus(shared: Path, log_name: str, part: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Every journal of the corpus beside the repository comes out to the byte, and follows from the stream alone."""
    folders = sorted((shared / "scenarios").glob(f"[gsu]*/*/{log_name}"))
    assert len(folders) == WHOLE[log_name]
    mine = [str(path.parent) for path in folders[part::PARTS]]
    overrides = [word for setting in SETTINGS[log_name] for word in ("--set", setting)]
    status = main(["simulate", *mine, "--expect", log_name, *overrides, "--verify", "--log", "memory:"])
    assert capsys.readouterr().out == f"{len(mine)} passed, 0 failed\n"
    assert status == 0
