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


TOGETHER = "resource-affinity: pair\n\tresources vm:100,vm:101\n\taffinity positive\n"
APART = "resource-affinity: foes\n\tresources vm:100,vm:101\n\taffinity negative\n"


def _plain(plan: Any) -> list[tuple[str, str, str]]:
    return [(item["resource"], item["source"], item["target"]) for item in plan["motions"]]


def test_resources_kept_together_move_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bundle goes by its first member's name and takes the loads of all with it."""
    plan, _ = _plan(tmp_path, capsys, _snapshot(rules=TOGETHER), "--json")
    assert {item[0] for item in _plain(plan)} == {"vm:100", "vm:102"}
    # Two of three equal loads on one node and one on another: 2, 1 and 0 with mean 1 and variance 2/3.
    assert [item["imbalance"] for item in plan["motions"]] == pytest.approx([(2 / 3) ** 0.5 / 2**0.5] * 4)


@pytest.mark.parametrize(
    "change",
    [{"node": "node2"}, {"auto-rebalance": 0}, {"cpu": None}],
    ids=["on another node", "not to be moved", "without a sample"],
)
def test_a_bundle_that_cannot_move_as_one_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    """No member of a bundle moves when one of them cannot."""
    data = _snapshot(rules=TOGETHER)
    data["resources"]["vm:101"].update(change)
    plan, _ = _plan(tmp_path, capsys, data, "--json")
    assert {item[0] for item in _plain(plan)} == {"vm:102"}


def test_resources_kept_apart_stay_apart_from_those_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A resource without a sample still stands where it stands: nothing that keeps away from it goes there."""
    data = _snapshot(rules=APART)
    data["resources"]["vm:101"].update(node="node2", cpu=None)
    plan, warnings = _plan(tmp_path, capsys, data, "--json")
    assert ("vm:100", "node1", "node3") in _plain(plan)
    assert ("vm:100", "node1", "node2") not in _plain(plan)
    assert "vm:101" in warnings


def test_rules_hold_after_every_motion_of_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each motion of a longer plan keeps resources apart as they stand by then, and lowers the imbalance."""
    data = _snapshot(rules=APART, settings={"ha-auto-rebalance-threshold": 1, "ha-auto-rebalance-margin": 0})
    del data["nodes"]["node3"]
    data["resources"]["vm:101"]["node"] = "node2"
    data["nodes"]["node1"].update(cpu=4.0, mem=4 * GIB)
    plan, _ = _plan(tmp_path, capsys, data, "--json", "--until-balanced")
    places = {name: values["node"] for name, values in data["resources"].items()}
    before = plan["imbalance"]
    for item in plan["motions"]:
        assert places[item["resource"]] == item["source"]
        places[item["resource"]] = item["target"]
        assert places["vm:100"] != places["vm:101"]
        assert item["imbalance"] < before
        before = item["imbalance"]
    assert _plain(plan) == [("vm:102", "node1", "node2")]


def test_nothing_comes_back_to_where_rules_forbid_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A resource that stood outside its rule's nodes can leave but not return."""
    pin = "node-affinity: pin\n\tresources vm:100\n\tnodes node2,node3\n\tstrict 1\n"
    data = _snapshot(rules=pin, settings={"ha-auto-rebalance-threshold": 0, "ha-auto-rebalance-margin": 0})
    plan, _ = _plan(tmp_path, capsys, data, "--json", "--until-balanced")
    assert plan["motions"]
    assert ("vm:100", "node1") not in {(item["resource"], item["target"]) for item in plan["motions"]}


def test_text_names_motions_scores_and_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people: percentages, where to start best, and with --time how long it took."""
    data = _snapshot(start={"maxcpu": 1, "maxmem": GIB}, settings={"ha-auto-rebalance-method": "topsis"})
    text, _ = _plan(tmp_path, capsys, data, "--time", "--top", "1")
    lines = text.splitlines()
    assert lines[0] == "imbalance now 100.0%"
    assert lines[1].startswith("vm:100: node1 to node2, imbalance ")
    assert lines[2].startswith("best to start on: node2 (")
    assert [line.split(":")[0] for line in lines[3:]] == ["seconds", "prepare seconds"]
    text, _ = _plan(tmp_path, capsys, _snapshot(resources={}))
    assert text.splitlines()[1:] == ["no motion is possible or needed"]


def test_settings_decide_where_options_do_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The threshold of the file ends a plan, and a value that is likely a fraction is warned about."""
    data = _snapshot(settings={"crs": {"ha-auto-rebalance-threshold": 60}})
    plan, _ = _plan(tmp_path, capsys, data, "--json", "--until-balanced")
    assert len(plan["motions"]) == 1
    data = _snapshot(settings={"ha-auto-rebalance-threshold": 0.3})
    _, warnings = _plan(tmp_path, capsys, data)
    assert "ha-auto-rebalance-threshold" in warnings


@pytest.mark.parametrize(
    ("where", "key", "value", "named"),
    [
        ("node2", "maxcpu", 0, "node2"),
        ("node2", "maxmem", None, "node2"),
        ("node2", "cpu", float("nan"), "node2"),
        ("node2", "maxmem", 0.5, "node2"),
        ("node2", "mem", -5, "node2"),
        ("node2", "maxcpu", 1e308, "node2"),
        ("node2", "maxcpu", 10**400, "node2"),
        ("vm:100", "mem", 2**63, "vm:100"),
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
        (_snapshot(settings=[]), "settings"),
        (_snapshot(rules=["vm:100"]), "rules"),
        (_snapshot(start={"maxcpu": 1}), "maxmem"),
        (_snapshot(start={"maxcpu": -1, "maxmem": 1}), "maxcpu"),
        (_snapshot(start=7), "start"),
        (_snapshot(resources={"vm:1": {"node": "node1", "cpu": True, "mem": 1}}), "cpu"),
        (
            _snapshot(resources={"vm:1": {"node": "node1", "cpu": 1, "mem": 1, "auto-rebalance": "no"}}),
            "auto-rebalance",
        ),
        (_snapshot(resources={"vm:1": {"node": ["node1"], "cpu": 1, "mem": 1}}), "node"),
        (_snapshot(resources=[]), "resources"),
        ({"resources": {}}, "nodes"),
        ([], "object"),
        ('{"nodes": {"node1": {}, "node1": {}}}', "'node1' appears twice"),
        ("[" * 100_000, "JSON"),
        ('{"nodes": ' + "9" * 5_000 + "}", "JSON"),
    ],
)
def test_bad_input_ends_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], data: Any, named: str) -> None:
    """A file that cannot be used ends in one line that names file and key, with status 2."""
    _, error = _plan(tmp_path, capsys, data, status=2)
    assert error.count("\n") == 1
    assert error.startswith("haes: ")
    assert "snapshot.json" in error
    assert named in error


def test_a_resource_on_a_node_left_out_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands on a node that cannot be reckoned with is named, too, and does not move."""
    data = _snapshot()
    data["nodes"]["node2"]["mem"] = None
    data["resources"]["vm:100"]["node"] = "node2"
    plan, warnings = _plan(tmp_path, capsys, data, "--json")
    assert {item[0] for item in _plain(plan)} == {"vm:101", "vm:102"}
    assert "'vm:100'" in warnings


def test_a_number_of_motions_below_one_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asking for no motion at all is a mistake and is named."""
    _, error = _plan(tmp_path, capsys, _snapshot(), "--top", "0", status=2)
    assert "--top 0" in error


@pytest.mark.parametrize("nodes", [0, 1])
def test_one_node_or_none_has_no_motion(tmp_path: Path, capsys: pytest.CaptureFixture[str], nodes: int) -> None:
    """A cluster of fewer than two nodes is balanced and has nowhere to move anything."""
    data = _snapshot()
    data["nodes"] = dict(list(data["nodes"].items())[:nodes])
    data["resources"] = data["resources"] if nodes else {}
    plan, _ = _plan(tmp_path, capsys, data, "--json")
    assert plan["imbalance"] == 0.0
    assert plan["motions"] == []
