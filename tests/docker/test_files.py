"""The files by which people deploy the system are sound, and name commands that exist."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from haes.cli.main import build_parser
from haes.configuration.file import read_cluster

ROOT = Path(__file__).parent.parent.parent
COMPOSE = ["compose.yaml", "compose.sentinel.yaml"]


def _compose(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((ROOT / "docker" / name).read_text())
    return data


def test_the_image_is_built_as_it_should_be() -> None:
    """The linter for such files has nothing to say."""
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, ROOT / "docker" / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_as_nobody_special_and_knows_its_health() -> None:
    """The last stage has a user without rights and a health check, and copies nothing but what was built."""
    last = (ROOT / "docker" / "Dockerfile").read_text().rpartition("FROM ")[2]
    assert "USER 10001" in last
    assert "HEALTHCHECK" in last
    assert [line for line in last.splitlines() if line.startswith("COPY")] == ["COPY --from=build /opt/haes /opt/haes"]


@pytest.mark.parametrize("name", COMPOSE)
def test_a_compose_file_follows_the_specification(name: str) -> None:
    """The published schema of such files is fulfilled."""
    checker = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run(
        [checker, "--builtin-schema", "vendor.compose-spec", ROOT / "docker" / name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", COMPOSE)
def test_containers_run_commands_that_exist(name: str) -> None:
    """Two managers, three agents: their command lines are understood, and their nodes are in the cluster's file."""
    data = _compose(name)
    cluster = read_cluster(ROOT / "docker" / "cluster.toml")
    commands = [item["command"] for item in data["services"].values() if item.get("image") == "haes"]
    parsed = [build_parser(command[0]).parse_args(command) for command in commands]
    assert sorted(item.command for item in parsed) == ["agent", "agent", "agent", "manager", "manager"]
    assert {item.node for item in parsed if item.command == "agent"} == set(cluster.nodes)
    used = {volume.partition(":")[0] for item in data["services"].values() for volume in item.get("volumes", [])}
    assert {name for name in used if not name.startswith(".")} == set(data["volumes"])


@pytest.mark.parametrize("name", COMPOSE)
def test_the_server_keeps_what_it_is_given(name: str) -> None:
    """Every server that keeps data has an append-only file and never evicts."""
    for service in _compose(name)["services"].values():
        command = service.get("command", [])
        if "redis-server" in command:
            assert command[command.index("--appendonly") + 1] == "yes"
            assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_examples_are_allowed(file: Path) -> None:
    """What people copy is right."""
    assert read_cluster(file).nodes


def test_units_run_commands_that_exist() -> None:
    """The units' command lines are understood; agents leave their keeper and its services alone."""
    for file in sorted((ROOT / "examples" / "systemd").glob("*.service")):
        lines = dict(
            line.split("=", 1) for line in file.read_text().splitlines() if "=" in line and not line.startswith("#")
        )
        words = lines["ExecStart"].replace("%i", "node1").replace("%H", "node1").split()
        assert words[0] == "/opt/haes/bin/haes"
        assert build_parser(words[1]).parse_args(words[1:]).command == words[1]
        assert lines["Type"] == "notify"
        assert ("KillMode" in lines) == (words[1] == "agent")


def test_the_package_has_what_the_image_installs() -> None:
    """The image installs the package alone, so everything that runs must be a dependency of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "haes" in project["scripts"]
    assert not [name for name in project["dependencies"] if "pytest" in name]
