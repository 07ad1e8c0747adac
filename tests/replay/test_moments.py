"""Domain time in words: seconds in a simulation, date and time of a real clock, and both can be pasted as a point."""

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from haes.journal import Line
from replay.moments import say_moment, say_span, say_time
from replay.told import told


@pytest.fixture
def somewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Provides a reader whose clocks are two hours before UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "EET-2")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("somewhere")
def test_journal_lines_carry_dates_where_a_real_clock_runs() -> None:
    """Nobody reads seconds since 1970; a simulation's lines are as they always were."""
    assert told(Line("warning", 1764572323.9, "node1/crm", "text")) == (
        "warn  2025-12-01T08:58:43+02:00    node1/crm: text"
    )
    assert told(Line("info", 80, "node1/crm", "text")) == "info     80    node1/crm: text"


@pytest.mark.usefixtures("somewhere")
@pytest.mark.parametrize(("at", "text"), [(0, "0 s"), (620.5, "620.5 s"), (1764572323.9, "2025-12-01T08:58:43+02:00")])
def test_a_moment_is_said_as_its_clock_says_it(at: float, text: str) -> None:
    """Small times are seconds of a virtual clock; large ones are local dates with their offset, points again."""
    assert say_moment(at) == text
    assert say_time(at) == text.removesuffix(" s")
    if at > 1e8:
        assert datetime.fromisoformat(text).timestamp() == int(at)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2.0 min"), (7200, "2.0 h")])
def test_a_span_has_a_unit_that_fits(seconds: float, text: str) -> None:
    """Seconds, then minutes, then hours."""
    assert say_span(seconds) == text
