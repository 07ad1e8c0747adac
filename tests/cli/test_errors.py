"""Whatever a user does wrong ends in one line that names file, key or value, with status 2 and no traceback."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from events.embedded import EmbeddedRedis
from events.errors import UserError
from events.url import connect
from haes.cli.main import main
from haes.simulation.scenario import load_scenario
from tests.cli.running import SCENARIOS, haes, refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provides a scenario's folder to spoil."""
    return Path(shutil.copytree(SCENARIOS / "fa109", tmp_path / "scenario"))


RESOURCE = {"node": "node1", "state": "started"}


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("service_config", "{", ["service_config", "line 1"]),
        ("service_config", "[]", ["service_config", "object"]),
        ("service_config", {"vm:101": {**RESOURCE, "nodes": 1}}, ["service_config", "vm:101", "nodes"]),
        ("service_config", {"vm:101": {**RESOURCE, "node": "node9"}}, ["service_config", "vm:101", "node9"]),
        ("service_config", {"vm:101": {**RESOURCE, "node": ["node1"]}}, ["service_config", "vm:101"]),
        ("service_config", {"vm:101": {**RESOURCE, "state": "up"}}, ["service_config", "vm:101", "up"]),
        ("service_config", {"vm:101": {**RESOURCE, "state": {}}}, ["service_config", "vm:101"]),
        ("service_config", {"vm:101": {**RESOURCE, "max_restart": -1}}, ["max_restart", "-1"]),
        ("service_config", {"vm:101": {**RESOURCE, "failback": "maybe"}}, ["failback", "maybe"]),
        ("service_config", {"disk:1": RESOURCE}, ["service_config", "disk:1"]),
        ("service_config", {"vm:101": 5}, ["service_config", "vm:101"]),
        ("hardware_status", {}, ["hardware_status"]),
        ("hardware_status", {"node1": {"power": "dim", "network": "on"}}, ["hardware_status", "node1", "dim"]),
        ("hardware_status", {"node1": {"speed": 1}}, ["hardware_status", "node1", "speed"]),
        ("hardware_status", {"node1": {"maxcpu": "lots"}}, ["hardware_status", "maxcpu", "lots"]),
        ("datacenter.cfg", {"crs": {"ha": "magic"}}, ["datacenter.cfg", "ha", "magic", "basic"]),
        ("datacenter.cfg", {"crs": {"ha-balance": 1}}, ["datacenter.cfg", "ha-balance"]),
        ("datacenter.cfg", {"crz": {}}, ["datacenter.cfg", "crz"]),
        ("datacenter.cfg", {"crs": []}, ["datacenter.cfg", "crs"]),
        ("datacenter.cfg", {"crs": {"ha": ["basic"]}}, ["datacenter.cfg", "ha"]),
        ("static_service_stats", {"vm:101": {"cores": 1}}, ["static_service_stats", "vm:101", "cores"]),
        ("dynamic_service_stats", {"vm:101": {"cpu": -1}}, ["dynamic_service_stats", "vm:101", "cpu"]),
        ("cmdlist", {}, ["cmdlist"]),
        ("cmdlist", [["power node1 up"]], ["cmdlist", "power node1 up"]),
        ("cmdlist", [["power node9 on"]], ["cmdlist", "node9"]),
        ("cmdlist", [["explode node1"]], ["cmdlist", "explode node1"]),
        ("cmdlist", [[5]], ["cmdlist", "5"]),
        ("manager_status", {"mode": 1}, ["manager_status", "mode"]),
        ("manager_status", {"service_status": {"vm:1": {"node": "node9"}}}, ["manager_status", "vm:1"]),
        ("manager_status", {"service_status": 5}, ["manager_status", "service_status"]),
        ("rules_config", "node-affinity: pin\n\tresources vm:101\n", ["rules_config", "nodes"]),
        ("rules_config", "sometimes: x\n\tresources vm:101\n", ["rules_config", "sometimes"]),
        ("groups", "group: g\n\tnode node1\n", ["groups"]),
    ],
)
def test_a_wrong_file_is_named(folder: Path, file: str, content: Any, named: list[str]) -> None:
    """A file that is not as it should be is refused before anything runs, naming what is wrong in it."""
    (folder / file).write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(UserError) as caught:
        load_scenario(folder)
    for part in named:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_named(folder: Path) -> None:
    """Bytes that are no UTF-8 are refused by the file's name."""
    (folder / "cmdlist").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="cmdlist"):
        load_scenario(folder)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["simulate", "no-such-folder"], ["no-such-folder"]),
        (["simulate", SCENARIOS / "fa109", "--set", "ha"], ["--set", "KEY=VALUE"]),
        (["simulate", SCENARIOS / "fa109", "--set", "colour=red"], ["colour"]),
        (
            ["simulate", SCENARIOS / "fa109", "--set", "ha-auto-rebalance-cooldown=-1"],
            ["ha-auto-rebalance-cooldown", "-1"],
        ),
        (["simulate", SCENARIOS / "fa109", "--log", "ftp://x"], ["ftp://x", "memory:"]),
        (["simulate", SCENARIOS / "fa109", "--log", "redis://127.0.0.1:1"], ["127.0.0.1:1"]),
        (["simulate", SCENARIOS / "fa109", SCENARIOS / "fa109"], ["--expect"]),
        (["replay"], ["--log"]),
        (["replay", "--log", "memory:"], ["main", "no events"]),
        (["replay", "--log", "unix:///nowhere/redis.sock"], ["/nowhere/redis.sock"]),
        (["rules", "check", "no-such-file", "--nodes", "node1"], ["no-such-file"]),
        (["rules", "check", __file__, "--nodes", ","], ["--nodes"]),
        (["plan", "no-such-file"], ["no-such-file"]),
        (["rebalance", "status"], ["--log"]),
        (["rebalance", "retry", "vm:1", "--log", "memory:"], ["main"]),
        (["archive", "list", "folder"], ["--log"]),
    ],
)
def test_a_wrong_word_is_named(words: list[Any], named: list[str]) -> None:
    """A command line that cannot be carried out ends in one line that names what is wrong."""
    error = refused(*words)
    for part in named:
        assert part in error


def test_a_command_that_cannot_be_carried_out_then_ends_the_simulation(folder: Path) -> None:
    """A command about something that is not there at that point is named, and the journal says that it ended early."""
    (folder / "cmdlist").write_text(json.dumps([["power node1 on"], ["service vm:999 started"]]))
    assert "vm:999" in refused("simulate", folder)


async def test_a_log_with_events_is_not_simulated_into(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A simulation never mixes with what a cluster has written before."""
    server = EmbeddedRedis(tmp_path / "data")
    await server.start()
    try:
        async with connect(server.url, "main") as log:
            token = await log.acquire("test", "test")
            from haes.state.batch import Batch  # noqa: PLC0415 - only here an event is made by hand

            batch = Batch(None, "test", 1)
            batch.emit("cluster.created", "cluster", name="main")
            await log.append(batch.events, token=token)
    finally:
        await server.stop()
    assert "has events already" in refused("simulate", SCENARIOS / "fa109", "--log", f"embedded:{tmp_path / 'data'}")


async def test_an_unknown_event_is_named_and_nothing_is_guessed(tmp_path: Path) -> None:
    """An event type from the future parks what it is about, and every reader of the state is told."""
    server = EmbeddedRedis(tmp_path / "data")
    await server.start()
    try:
        async with connect(server.url, "main") as log:
            token = await log.acquire("test", "test")
            from events.envelope import Event  # noqa: PLC0415 - only here an event is made by hand

            await log.append([Event("future.thing", "vm:1", "test", 1)], token=token)
    finally:
        await server.stop()
    _, warning = haes("replay", "--log", f"embedded:{tmp_path / 'data'}")
    assert "warning: vm:1 is as before event 1, which could not be applied (event type 'future.thing'" in warning


def test_old_fractions_get_a_loud_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """A threshold below one percent is carried out, but said to be almost certainly mistaken."""
    assert main(["simulate", str(SCENARIOS / "fa109"), "--set", "ha-auto-rebalance-threshold=0.3"]) == 0
    assert "warning: setting 'ha-auto-rebalance-threshold' is 0.3" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "what"), [(["node9"], "is no node"), (["node1", "--apart"], "is a node")])
def test_a_manager_says_where_it_runs(tmp_path: Path, words: list[str], what: str) -> None:
    """A manager of a node that the cluster does not have is refused, unless it says that it belongs to none."""
    file = tmp_path / "cluster.toml"
    file.write_text("[nodes.node1]\n[nodes.node2]\n")
    error = refused("manager", *words, "--config", file, "--log", "unix:///nowhere", "--directory", tmp_path / "var")
    assert what in error
    assert "node1, node2" in error
    assert not (tmp_path / "var").exists()


def test_a_setting_without_effect_in_a_simulation_is_refused(folder: Path) -> None:
    """Loads of a simulation are those of the scenario, so a setting about how they are measured is not taken."""
    name = "ha-load-average-window"
    error = refused("simulate", folder, "--set", f"{name}=300")
    assert name in error
    assert "no effect in a simulation" in error
    (folder / "datacenter.cfg").write_text(json.dumps({"crs": {name: 300}}))
    error = refused("simulate", folder)
    assert name in error
    assert "datacenter.cfg" in error
