"""`haes plan`: a snapshot in, motions out; odd numbers never choose one."""

import json
from pathlib import Path
from typing import Any

import pytest

from haes.cli.main import main

GIB = 2**30


def _snapshot(**changes: Any) -> dict[str, Any]:
    node = {"maxcpu": 8, "maxmem": 16 * GIB, "cpu": 0.0, "mem": 0}
    resource = {"node": "node1", "cpu": 1.0, "mem": GIB, "maxcpu": 2.0, "maxmem": 2 * GIB}
    data: dict[str, Any] = {
        "nodes": {"node1": {**node, "cpu": 3.0, "mem": 3 * GIB}, "node2": dict(node), "node3": dict(node)},
        "resources": {f"vm:10{number}": dict(resource) for number in range(3)},
    }
    return data | changes


def _plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: Any, *options: str, status: int = 0
) -> tuple[Any, str]:
    path = tmp_path / "snapshot.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    assert main(["plan", str(path), *options]) == status
    output = capsys.readouterr()
    return (json.loads(output.out) if "--json" in options and not status else output.out), output.err


def test_the_best_motion_comes_with_the_imbalance_after_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON holds imbalance before, the motions with the imbalance after, and two times."""
    plan, _ = _plan(tmp_path, capsys, _snapshot(), "--json", "--top", "2")
    assert plan["imbalance"] == pytest.approx(1.0)
    assert [(item["resource"], item["source"], item["target"]) for item in plan["motions"]] == [
        ("vm:100", "node1", "node2"),
        ("vm:100", "node1", "node3"),
    ]
    assert plan["motions"][0]["imbalance"] < plan["imbalance"]
    assert plan["seconds"] >= 0
    assert plan["prepare_seconds"] >= 0
    assert "start_scores" not in plan


def test_until_balanced_ends_below_the_threshold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each motion is chosen on the state after the one before, until the threshold is kept."""
    plan, _ = _plan(tmp_path, capsys, _snapshot(), "--json", "--until-balanced")
    assert [item["resource"] for item in plan["motions"]] == ["vm:100", "vm:101"]
    assert plan["motions"][-1]["imbalance"] == pytest.approx(0.0, abs=1e-9)


def test_rules_and_flags_restrict_motions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A strict node rule leaves one target, resources kept together or switched off do not move alone."""
    rules = "node-affinity: pin\n\tresources vm:100\n\tnodes node1,node3\n\tstrict 1\n"
    data = _snapshot(rules=rules)
    data["resources"]["vm:101"]["auto-rebalance"] = 0
    plan, _ = _plan(tmp_path, capsys, data, "--json")
    assert {(item["resource"], item["target"]) for item in plan["motions"]} == {
        ("vm:100", "node3"),
        ("vm:102", "node2"),
        ("vm:102", "node3"),
    }


@pytest.mark.parametrize(
    ("where", "key", "value", "named"),
    [
        ("node2", "maxcpu", 0, "node2"),
        ("node2", "maxmem", None, "node2"),
        ("node2", "cpu", float("nan"), "node2"),
        ("vm:100", "cpu", None, "vm:100"),
        ("vm:100", "mem", -1, "vm:100"),
        ("vm:100", "cpu", float("inf"), "vm:100"),
    ],
)
def test_odd_numbers_never_choose_a_motion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, key: str, value: Any, named: str
) -> None:
    """What is missing, zero where it must not be, negative or not finite is left out and named, never read as zero."""
    data = _snapshot()
    data["nodes" if where.startswith("node") else "resources"][where][key] = value
    plan, warnings = _plan(tmp_path, capsys, data, "--json")
    assert plan["motions"]
    assert all(named not in (item["resource"], item["target"]) for item in plan["motions"])
    assert warnings.startswith("warning: ")
    assert named in warnings
    assert key in warnings


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ("{", "line 1"),
        ({"nodes": {}, "extra": 1}, "extra"),
        ({"nodes": {"node1": {"maxcpu": 1, "speed": 2}}}, "speed"),
        ({"nodes": {"node1": {"maxcpu": "many"}}}, "maxcpu"),
        (_snapshot(resources={"vm:1": {"node": "node9", "cpu": 1, "mem": 1}}), "node9"),
        (_snapshot(settings={"crs": {"ha-auto-rebalance-method": "guess"}}), "guess"),
    ],
)
def test_bad_input_ends_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], data: Any, named: str) -> None:
    """A file that cannot be used ends in one line that names file and key, with status 2."""
    _, error = _plan(tmp_path, capsys, data, status=2)
    assert error.count("\n") == 1
    assert error.startswith("haes: ")
    assert "snapshot.json" in error
    assert named in error


@pytest.mark.parametrize("nodes", [0, 1])
def test_one_node_or_none_has_no_motion(tmp_path: Path, capsys: pytest.CaptureFixture[str], nodes: int) -> None:
    """A cluster of fewer than two nodes is balanced and has nowhere to move anything."""
    data = _snapshot()
    data["nodes"] = dict(list(data["nodes"].items())[:nodes])
    data["resources"] = data["resources"] if nodes else {}
    plan, _ = _plan(tmp_path, capsys, data, "--json")
    assert plan["imbalance"] == 0.0
    assert plan["motions"] == []
