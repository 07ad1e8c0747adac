"""`haes diff` as a user sees it: two points, two logs, and what does not go together."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import SCENARIOS, haes, refused


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Provides the URL of a log that holds the story of fa109 twice: remembering series, and remembering nothing."""
    url = f"embedded:{tmp_path_factory.mktemp('diff') / 'log'}"
    for cluster in ("series", "none"):
        backoff = f"ha-auto-rebalance-backoff={cluster}"
        haes("simulate", SCENARIOS / "fa109", "--set", backoff, "--log", url, "--cluster", cluster)
    return url


def test_two_points_are_compared(log: str) -> None:
    """What changed between two moments is told by node and resource, with old and new, and nothing else is."""
    text, _ = haes("diff", "@240", "@260", "--log", log, "--cluster", "series")
    lines = text.splitlines()
    place = lines.index("resource vm:102")
    assert lines[place + 1 :][:2] == ["  changed  configuration.node: node1 -> node2", "  changed  job: 5 -> 6"]
    assert "  added    rests_until: 860" in lines
    assert not [line for line in lines if line.startswith("resource") and line != "resource vm:102"]


def test_changes_are_data_too(log: str) -> None:
    """With --json the two places and every change come as data; the way back is the same changes turned round."""
    there, back = (
        json.loads(haes("diff", *points, "--json", "--log", log, "--cluster", "series")[0])
        for points in (("40", "90"), ("90", "40"))
    )
    assert there["from"] == back["to"] == {"cluster": "series", "n": 40, "at": there["from"]["at"]}
    assert [(item["name"], item["old"], item["new"]) for item in there["changes"]] == [
        (item["name"], item["new"], item["old"]) for item in back["changes"]
    ]
    whole = json.loads(haes("diff", "40", "--json", "--log", log, "--cluster", "series")[0])
    assert whole["to"]["n"] == 118
    assert haes("diff", "50", "50", "--log", log, "--cluster", "series")[0].endswith("nothing differs\n")


def test_two_logs_are_compared(log: str) -> None:
    """The ends of two clusters' logs, or a point of each, are compared; the second is that of --other."""
    words = ("diff", "--log", log, "--cluster", "series", "--other", log, "--other-cluster", "none")
    changes = {
        (item["group"], item["name"], item["field"]): (item["old"], item["new"])
        for item in json.loads(haes(*words, "--json")[0])["changes"]
    }
    assert changes["cluster", "", "settings.crs.ha-auto-rebalance-backoff"] == ("series", "none")
    assert changes["resource", "vm:102", "node"] == ("node2", "node1")
    assert "nothing differs" not in haes(*words, "60", "60")[0]


def test_what_does_not_go_together_is_refused(log: str, tmp_path: Path) -> None:
    """Too few or too many points, a cluster without events and a log that is not there are named."""
    assert "one or two points" in refused("diff", "--log", log)
    assert "one or two points" in refused("diff", "1", "2", "3", "--log", log)
    assert "a point of each" in refused("diff", "1", "--log", log, "--other-cluster", "none")
    assert "'nobody' has no events" in refused("diff", "--log", log, "--cluster", "none", "--other-cluster", "nobody")
    assert "there is no log" in refused("diff", "--log", log, "--other", f"embedded:{tmp_path}")
