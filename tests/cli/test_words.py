"""The words of the command line: the help by what one wants, slips of the pen, and commands that stand alone."""

import re
from pathlib import Path

import pytest

from haes.cli.commands import COMMANDS, GROUPS
from haes.cli.main import main


def test_the_help_groups_commands_by_what_one_wants(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command stands once, under a wish, and no line is longer than a terminal of the usual width."""
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    places = [said.index(f"\n{wish}:\n") for wish in GROUPS]
    assert places == sorted(places)
    assert re.findall(r"^  (\w+) +\S", said, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize(("slip", "meant"), [("stauts", "status"), ("migrat", "migrate"), ("explane", "explain")])
def test_a_slip_of_the_pen_is_answered_with_the_nearest_command(
    slip: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no command is refused in one line that names the one that was meant."""
    assert main([slip]) == 2
    assert capsys.readouterr().err == (
        f"haes: there is no command '{slip}'; did you mean '{meant}'? (see haes --help)\n"
    )
    assert main(["zzzzzz"]) == 2
    assert capsys.readouterr().err == "haes: there is no command 'zzzzzz' (see haes --help)\n"


@pytest.mark.parametrize("name", ["fence", "config", "archive", "audit"])
def test_a_command_that_needs_more_words_alone_is_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is nothing to show without being told what, the help says what can be told."""
    with pytest.raises(SystemExit) as ended:
        main([name])
    assert ended.value.code == 0
    assert f"usage: haes {name}" in capsys.readouterr().out


def test_commands_alone_show_what_there_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without a word on what to do, and with options only, they show what there is."""
    log = ("--log", f"embedded:{tmp_path / 'log'}", "--cluster", "test")
    scenario = Path(__file__).parent.parent / "scenarios" / "data" / "fa109"
    assert main(["simulate", str(scenario), *log]) == 0
    capsys.readouterr()
    for name, shown in (
        ("settings", "crs.ha ="),
        ("parked", "Parked: nothing"),
        ("log", "of cluster 'test'"),
        ("rules", ""),
        ("readers", "Readers: nobody is registered"),
        ("rebalance", "Cooldowns"),
    ):
        assert main([name, *log]) == 0
        said = capsys.readouterr()
        assert shown in said.out
        assert said.err == ("there are no rules\n" if name == "rules" else "")
    assert main(["replay", "--at", "99999", *log]) == 0
    assert re.match(r"there is no event 99999 yet; this is the end, event \d+\n", capsys.readouterr().err)
