"""Domain time in words: seconds in a simulation, date and time of a real clock, and both can be pasted as a point."""

from datetime import datetime

import pytest

from replay.moments import say_moment, say_span, say_time


@pytest.mark.parametrize(("at", "text"), [(0, "0 s"), (620.5, "620.5 s"), (1764572323.9, "2025-12-01T06:58:43Z")])
def test_a_moment_is_said_as_its_clock_says_it(at: float, text: str) -> None:
    """Small times are seconds of a virtual clock; large ones are dates, which are points again."""
    assert say_moment(at) == text
    assert say_time(at) == text.removesuffix(" s")
    if at > 1e8:
        assert datetime.fromisoformat(text).timestamp() == int(at)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2.0 min"), (7200, "2.0 h")])
def test_a_span_has_a_unit_that_fits(seconds: float, text: str) -> None:
    """Seconds, then minutes, then hours."""
    assert say_span(seconds) == text
