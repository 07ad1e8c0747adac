"""Variables of a service that lie in a file of its node are used there and are nowhere else."""

from pathlib import Path

import pytest

from events.errors import UserError
from haes.configuration.resource import check_changes
from haes.drivers.process.definition import ServiceDefinition
from haes.drivers.process.variables import VariablesUnreadable, known_variables, variables_of
from tests.cli.running import haes


def test_variables_of_the_file_are_joined(tmp_path: Path) -> None:
    """Lines NAME=VALUE are taken as they are; what the configuration names itself wins."""
    file = tmp_path / "web.env"
    file.write_text("# secrets\n\nPASSWORD=a=b 'c'\nMODE=file\n")
    definition = ServiceDefinition(("true",), {"MODE": "own"}, environment_file=str(file))
    assert variables_of(definition) == {"PASSWORD": "a=b 'c'", "MODE": "own"}


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "No such file"), ("A=1\nhunter2\n", ":2: expected NAME=VALUE"), ("=hunter2", ":1: expected")],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    """File and line are in the message, nothing of what the file holds; what runs already is asked for without it."""
    file = tmp_path / "web.env"
    if text is not None:
        file.write_text(text)
    definition = ServiceDefinition(("true",), {"MODE": "own"}, environment_file=str(file))
    with pytest.raises(VariablesUnreadable, match=said) as caught:
        variables_of(definition)
    assert "hunter2" not in str(caught.value)
    assert known_variables(definition) == {"MODE": "own"}


def test_only_the_path_is_configured() -> None:
    """The stream carries where the file is; a path that depends on where the agent runs is refused."""
    given = {"node": "node1", "command": "true", "environment_file": "/etc/web.env"}
    changes = check_changes("process:web", given, ["node1"], "x")
    assert changes["service"]["environment_file"] == "/etc/web.env"
    with pytest.raises(UserError, match=r"environment_file.*absolute"):
        check_changes("process:web", {**given, "environment_file": "web.env"}, ["node1"], "x")


def test_a_secret_in_the_configuration_is_warned_of(tmp_path: Path) -> None:
    """Checking a cluster's file names the variable whose value everybody could read, and not the value."""
    file = tmp_path / "cluster.toml"
    file.write_text(
        '[cluster]\nname = "x"\n[nodes.node1]\ncpus = 1\nmemory = "1GiB"\n'
        '[resources."process:web"]\nnode = "node1"\ncommand = "true"\n'
        'environment = { API_TOKEN = "hunter2", MODE = "fast" }\n'
    )
    said, _ = haes("config", "check", file)
    assert said.count("warning:") == 1
    assert "process:web: 'API_TOKEN' looks like a secret" in said
    assert "hunter2" not in said
