"""The journal is rendered from events alone, and events hold data, never its texts."""

import asyncio
import copy
from collections.abc import Iterator
from typing import Any

import pytest

from events.envelope import Event
from events.schema import SCHEMAS
from haes.journal import Line, journal_lines, render_line
from haes.journal.tables import TABLE
from tests.builders import tell
from tests.scenarios.sample import FOLDERS, load

# What operators wrote stands in events word for word, for it is data; whatever they wrote may come back in a line.
WRITTEN = ("text", "command", "scenario")


@pytest.fixture(scope="module")
def histories() -> list[list[Event]]:
    """Provides the events of all scenarios of the sample."""
    return [asyncio.run(tell(load(folder.name))).events for folder in FOLDERS]


def _texts(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if name not in WRITTEN:
            yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, name)


def test_every_text_belongs_to_an_event_type() -> None:
    """No line can be printed that no event stands behind."""
    assert TABLE.keys() <= SCHEMAS.keys()


def test_refusals_series_pauses_and_outcomes_without_a_line_are_silent() -> None:
    """Of the balancer's events only choices, plans and failures have lines; the others are for those who ask."""
    assert {name for name in TABLE if name.startswith("balance.")} == {
        "balance.motion",
        "balance.plan",
        "balance.plan_ended",
        "balance.failed",
    }


def test_payloads_hold_data_and_never_rendered_text(histories: list[list[Event]]) -> None:
    """Values are words and numbers: none is a phrase that a line of the journal shows as it is."""
    for history in histories:
        for event in history:
            for line in journal_lines(event):
                for text in _texts(dict(event.payload)):
                    assert " " not in text or text not in line.text


def test_rendering_changes_nothing_and_depends_on_nothing_else(histories: list[list[Event]]) -> None:
    """An event has the same lines whenever and in whatever order it is looked at."""
    history = histories[0]
    before = copy.deepcopy(history)
    forwards = [journal_lines(event) for event in history]
    backwards = [journal_lines(event) for event in reversed(history)]
    assert forwards == backwards[::-1]
    assert history == before


def test_no_line_has_a_gap_where_a_value_was_missing(histories: list[list[Event]]) -> None:
    """Every value that a line shows is there: no empty quotes, no None, no braces that were not filled."""
    for history in histories:
        for event in history:
            for line in journal_lines(event):
                assert "''" not in line.text
                assert "None" not in line.text
                assert "{" not in line.text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (Line("info", 20, "node1/crm", "t"), "info     20    node1/crm: t"),
        (Line("notice", 120.9, "node1/lrm", "t"), "noti    120    node1/lrm: t"),
        (Line("warning", 9999, "node10/crm", "t"), "warn   9999   node10/crm: t"),
        (Line("err", 123456, "node1/crm", "t"), "err   123456    node1/crm: t"),
        (Line("warning", 0, "hardware", "t"), "warning     0     hardware: t"),
        (Line("notice", 0, "cmdlist", "t"), "notice     0      cmdlist: t"),
    ],
)
def test_a_line_is_level_time_source_and_text(line: Line, text: str) -> None:
    """Columns are padded, never cut, but for the names of levels, which processes cut to four letters."""
    assert render_line(line) == text


def test_a_late_event_is_rendered_like_any_other() -> None:
    """What a cut-off node logged is a fact that people see, though it changes no state."""
    event = Event("manager.slave", "node2", "node2/crm", 60, {"previous": "wait_for_quorum"}, late=True)
    assert [line.text for line in journal_lines(event)] == ["status change wait_for_quorum => slave"]


@pytest.mark.parametrize(
    ("policy", "values", "end"),
    [
        ("time", {"until": 160}, "not retrying it for 60s"),
        ("time", {"until": 160.5}, "not retrying it for 60.5s"),
        ("series", {"skip": 1, "first_series": 3}, "not retrying it in this series and the next 1"),
    ],
)
def test_a_failure_warns_with_what_the_policy_makes_of_it(policy: str, values: dict[str, Any], end: str) -> None:
    """The warning says how often it failed and for how long it is left alone."""
    payload = {"resource": "fa:102", "target": "node2", "verb": "relocate", "attempts": 1, "policy": policy}
    event = Event("balance.failed", "balance", "node1/crm", 100, {**payload, "reason": "exit code 1", **values})
    (line,) = journal_lines(event)
    assert line.level == "warning"
    assert line.text == f"auto rebalance - relocate fa:102 to node2 did not succeed (attempt 1), {end}"


def test_without_memory_a_failure_has_no_line() -> None:
    """Policy none leaves nothing out, so there is nothing to warn of."""
    payload = {"resource": "fa:102", "target": "node2", "verb": "relocate", "attempts": 1, "policy": "none"}
    assert not journal_lines(Event("balance.failed", "balance", "node1/crm", 100, {**payload, "reason": "is on node1"}))
