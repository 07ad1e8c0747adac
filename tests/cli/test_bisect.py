"""`haes bisect` as a user sees it."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.running import SCENARIOS, haes, refused


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Provides the URL of a log that holds the story of fa109."""
    url = f"embedded:{tmp_path_factory.mktemp('bisect') / 'log'}"
    haes("simulate", SCENARIOS / "fa109", "--set", "ha-auto-rebalance-backoff=series", "--log", url)
    return url


def test_the_event_is_shown_with_what_it_changed(log: str) -> None:
    """The answer is the first event after which it holds, its journal line, and old and new values."""
    text, _ = haes("bisect", 'resource("vm:102").node == "node2"', "--log", log)
    assert text.startswith("holds first after event 96:\n")
    assert "state changed from 'migrate' to 'started'" in text
    assert "  changed  node: node1 -> node2" in text
    data = json.loads(haes("bisect", "motions >= 3", "--monotone", "--json", "--log", log)[0])
    assert (data["n"], data["already"], data["event"]["type"]) == (89, False, "balance.motion")
    assert data["looked_at"] < 12


def test_no_is_an_answer(log: str) -> None:
    """What never holds ends with status 1, and a resource that was never there is named."""
    text, _ = haes("bisect", 'resource("vm:999").running', "--log", log, status=1)
    assert text == "never holds; 118 events were looked at\nthere is no resource 'vm:999' in this stretch\n"
    assert "never holds" in haes("bisect", "motions >= 3", "--until", "88", "--log", log, status=1)[0]


def test_what_holds_already_is_said(log: str) -> None:
    """A condition that holds before the stretch begins has no first event there."""
    assert haes("bisect", "motions >= 3", "--from", "100", "--log", log)[0].startswith("holds already: event 99")
    assert "before the first event" in haes("bisect", "leader == none", "--log", log)[0]


def test_what_cannot_be_searched_is_refused(log: str) -> None:
    """A wrong expression is named by its column, a stretch without events by its ends."""
    assert "column 1: unknown name 'foo'" in refused("bisect", "foo > 1", "--log", log)
    assert "no event from 90 up to 20" in refused("bisect", "n > 1", "--from", "90", "--until", "20", "--log", log)
    assert "--monotone: imbalance" in refused("bisect", "imbalance > 1", "--monotone", "--log", log)
    assert "'main' has no events" in refused("bisect", "n > 1", "--log", "memory:")
    assert "--log" in refused("bisect", "n > 1")


def test_the_help_names_all_that_an_expression_may_use() -> None:
    """Every name of the language stands in the help with its meaning."""
    text, _ = haes("bisect", "--help")
    for word in ("imbalance", ".failed_nodes", 'node("NAME"):', "event:", "count(ALL, CONDITION)", "percent"):
        assert word in text
