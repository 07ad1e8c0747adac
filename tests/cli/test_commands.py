"""The commands as a user sees them: what they print, and how they end."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.running import SCENARIOS, haes

NONE = ("--set", "ha-auto-rebalance-backoff=none", "--set", "ha-auto-rebalance-cooldown=0")


def test_simulate_prints_the_journal() -> None:
    """Without --expect the journal comes out, line by line, with status 0."""
    output, error = haes("simulate", SCENARIOS / "fa109", *NONE)
    assert output == (SCENARIOS / "fa109" / "log.expect").read_text()
    assert error == ""


def test_simulate_counts_what_passed_failed_and_was_skipped(tmp_path: Path) -> None:
    """A changed expectation is shown as a diff; the last line counts; the status says which."""
    good, bad, missing = (Path(shutil.copytree(SCENARIOS / "fa109", tmp_path / name)) for name in ("a", "b", "c"))
    (bad / "log.expect").write_text((bad / "log.expect").read_text().replace("fa:109 to node2", "fa:109 to nowhere"))
    (missing / "log.expect").unlink()
    output, _ = haes("simulate", good, bad, missing, "--expect", "log.expect", *NONE, "--verify", status=1)
    assert output.splitlines()[-1] == "1 passed, 1 failed, 1 skipped"
    assert "-info     80    node1/crm: auto rebalance - relocate fa:109 to nowhere" in output
    output, _ = haes("simulate", good, "--expect", "log.expect", *NONE)
    assert output == "1 passed, 0 failed\n"
    output, _ = haes("simulate", missing, "--expect", "log.expect", status=2)
    assert output == "0 passed, 0 failed, 1 skipped\n"


def test_many_scenarios_share_a_log_and_may_do_so_again(tmp_path: Path) -> None:
    """On a real server each scenario is a cluster of its own, and a second run finds names that are free."""
    other = shutil.copytree(SCENARIOS / "fa109", tmp_path / "other")
    words = (
        "simulate",
        SCENARIOS / "fa109",
        other,
        "--expect",
        "log.expect",
        *NONE,
        "--log",
        f"embedded:{tmp_path / 'log'}",
    )
    for _ in range(2):
        output, _ = haes(*words, "--verify")
        assert output == "2 passed, 0 failed\n"


@pytest.fixture
def log(tmp_path: Path) -> tuple[str, ...]:
    """Provides the options of a log in which fa109 was lived through with policy series."""
    options = ("--log", f"embedded:{tmp_path / 'log'}", "--cluster", "test")
    haes("simulate", SCENARIOS / "fa109", "--set", "ha-auto-rebalance-backoff=series", *options)
    return options


def test_replay_says_what_the_stream_leads_to(log: tuple[str, ...]) -> None:
    """Resources, nodes, leader, failures with their back-off and cooldowns come from the stream alone."""
    said = json.loads(haes("replay", "--json", *log)[0])
    assert said["leader"] == "node1"
    assert {row["node"]: row["state"] for row in said["nodes"]} == dict.fromkeys(("node1", "node2", "node3"), "online")
    assert {row["resource"] for row in said["resources"]} == {"fa:109", "vm:102", "vm:103", "vm:104"}
    assert [(row["resource"], row["target"], row["attempts"]) for row in said["failures"]] == [
        ("fa:109", "node2", 1),
        ("fa:109", "node3", 1),
    ]
    assert [row["resource"] for row in said["cooldowns"]] == ["vm:102", "vm:103"]
    assert said["pending"] == []
    text, _ = haes("replay", *log)
    for words in ("leader node1", "fa:109", "Pending motions: none", "Cooldowns"):
        assert words in text


def test_rebalance_commands_are_requests(log: tuple[str, ...]) -> None:
    """Advice and retry are asked for in the user's own stream, where the leader finds them; status shows the memory."""
    assert "Failures of the balancer's motions" in haes("rebalance", "status", *log)[0]
    assert "asked for" in haes("rebalance", "advise", "--user", "eve", "--no-wait", *log)[0]
    assert (
        "asked for" in haes("rebalance", "retry", "fa:109", "--target", "node2", "--user", "eve", "--no-wait", *log)[0]
    )
    waiting = json.loads(haes("status", "--json", *log)[0])["live"]["requests"]
    assert waiting == [
        {"user": "eve", "verb": "rebalance-advise", "arguments": []},
        {"user": "eve", "verb": "rebalance-retry", "arguments": ["fa:109", "node2"]},
    ]
    assert "no resource 'fa:1'" in haes("rebalance", "retry", "fa:1", *log, status=2)[1]


def test_the_demonstration_runs_twice(tmp_path: Path) -> None:
    """The main job runs from a folder with the example alone, again and again, and its last lines say what to try."""
    examples = Path(__file__).parent.parent.parent / "examples"
    shutil.copytree(examples, tmp_path / "examples")
    for _ in range(2):
        output, error = haes("demo", folder=tmp_path)
        assert error == ""
        assert "did not succeed (attempt 1), not retrying it for 60s" in output
        assert "Failures of the balancer's motions" in output
        assert output.splitlines()[-3] == "Try next:"


def test_rules_check_prints_the_report_and_warns_loudly(tmp_path: Path) -> None:
    """Rules that cannot hold are dropped with a reason; a node that nobody knows is named on stderr."""
    path = tmp_path / "rules.cfg"
    path.write_text(
        "node-affinity: pin\n\tresources vm:101\n\tnodes Node1\n\n"
        "resource-affinity: lone\n\tresources vm:1\n\taffinity positive\n"
    )
    output, error = haes("rules", "check", path, "--nodes", "node1,node2")
    assert "Drop rule 'lone', because rule is ineffective as there are less than two resources." in output
    assert "Node1" in error
    assert "node1, node2" in error
