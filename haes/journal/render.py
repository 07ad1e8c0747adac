"""From event to journal lines: looks up the texts and lays a line out; the texts themselves are in the tables."""

from dataclasses import dataclass

from events.envelope import Event
from haes.journal.tables import TABLE, Texts


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the journal.

    Attributes:
        level: info, notice, warning, err, email.
        at: domain time, seconds.
        by: the source.
        text: what happened.
    """

    level: str
    at: float
    by: str
    text: str


# Processes cut level names to this length; the simulated hardware does not.
LEVEL_WIDTH = 4
_WHOLE_LEVELS = frozenset({"hardware", "cmdlist", "run-loop"})


def journal_lines(event: Event) -> list[Line]:
    """Returns the lines of an event; most have one, some none."""
    entry = TABLE.get(event.type)
    if entry is None:
        return []
    texts: Texts = entry(event)
    return [Line(level, event.at, event.by, text) for level, text in texts]


def render_line(line: Line) -> str:
    """Returns a line as text: level, time in seconds, source, text."""
    level = line.level if line.by in _WHOLE_LEVELS else line.level[:LEVEL_WIDTH]
    return f"{level:<5} {int(line.at):>5d} {line.by:>12}: {line.text}"
