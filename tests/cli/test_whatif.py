"""`haes whatif` and `haes verify` as a user sees them."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.running import SCENARIOS, haes, refused


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Provides the URL of a log that holds the story of fa109."""
    url = f"embedded:{tmp_path_factory.mktemp('whatif') / 'log'}"
    haes("simulate", SCENARIOS / "fa109", "--set", "ha-auto-rebalance-backoff=series", "--log", url)
    return url


def test_other_settings_from_a_point_on(log: str) -> None:
    """The point is any point; text and data say the same."""
    words = ("whatif", "--set", "ha-auto-rebalance-threshold=100", "--from", "@100", "--log", log)
    data = json.loads(haes(*words, "--json")[0])
    assert (data["since"], data["begin"]) == (72, 100)
    assert (data["recorded"]["motions"], data["otherwise"]["motions"]) == (3, 0)
    assert data["parting"]["recorded"]["n"] > 72
    assert "motions of the balancer              3           0" in haes(*words)[0]


def test_what_makes_no_sense_is_refused(log: str) -> None:
    """No setting, an unknown one, a point that is none, and one after the end are named."""
    assert "--set" in refused("whatif", "--log", log)
    assert "colour" in refused("whatif", "--set", "colour=red", "--log", log)
    assert "yesterday" in refused("whatif", "--set", "ha=basic", "--from", "yesterday", "--log", log)
    assert "had ended by then, at event 118" in refused("whatif", "--set", "ha=basic", "--from", "@9999", "--log", log)


def test_verify_says_what_was_checked(log: str) -> None:
    """Every check has its line, and data for programs."""
    text, _ = haes("verify", "--log", log)
    assert text.endswith("118 events, 0 findings\n")
    report = json.loads(haes("verify", "--json", "--log", log)[0])
    assert list(report["checks"]) == [line.partition(":")[0] for line in text.splitlines()[:-1]]
    assert report["findings"] == []
