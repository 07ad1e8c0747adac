"""Domain time in words: seconds in a simulation, local date and time where a real clock runs; knows no events."""

from datetime import UTC, datetime

# Domain times above this many seconds are of a real clock (the year 1973); simulations are shorter.
REAL_TIME = 1e8


def say_moment(at: float) -> str:
    """Returns a domain time for people, in a form that commands take as a point, too (without the unit)."""
    return f"{at:g} s" if at < REAL_TIME else say_time(at)


def say_time(at: float) -> str:
    """Returns the same without a unit, for columns and sentences that have one."""
    if at < REAL_TIME:
        return f"{at:g}"
    # Where the reader is, and how far that is from UTC; an hour that a clock change repeats is told by that, too.
    return datetime.fromtimestamp(at, UTC).astimezone().isoformat(timespec="seconds")


def say_span(seconds: float) -> str:
    """Returns a length of time for people: seconds up to two minutes, then minutes, then hours."""
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:g} s"
    if seconds < 7200:  # noqa: PLR2004 - two hours
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"
