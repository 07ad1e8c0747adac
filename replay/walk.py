"""A walk through a stream, event by event: what each said and changed in the state; reads and prints nothing."""

from dataclasses import dataclass
from typing import Any

from events.envelope import Event
from haes.journal import journal_lines, render_line
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from replay.changes import Change, Facts, change_lines, changes, facts, read_by_people
from replay.moments import say_moment
from replay.told import told


@dataclass(frozen=True, slots=True)
class Step:
    """One event, its journal lines, and what it changed."""

    event: Event
    journal: list[str]
    changes: list[Change]

    def to_data(self) -> dict[str, Any]:
        """Returns the step as JSON-like data."""
        event = self.event
        return {
            "n": event.n,
            "at": event.at,
            "type": event.type,
            "subject": event.subject,
            "by": event.by,
            "about": event.about,
            "late": event.late,
            "journal": self.journal,
            "changes": [change.to_data() for change in self.changes],
        }

    def to_lines(self) -> list[str]:
        """Returns the step as lines for people."""
        event = self.event
        about = f" ({event.about})" if event.about else ""
        late = ", late: a fact of somebody who was cut off" if event.late else ""
        lines = [f"{event.n}  {say_moment(event.at)}  {event.type} of {event.subject} by {event.by}{about}{late}"]
        lines += [f"    | {told(line)}" for line in journal_lines(event)]
        lines += [f"    {line}" for line in change_lines(read_by_people(self.changes))] or ["    changes nothing"]
        return lines


class Walk:
    """A state on its way through a stream.

    Attributes:
        state: as of the last event taken or passed.
    """

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        # The facts of the state, as long as nothing was passed since they were looked at.
        self._facts: Facts | None = None

    def take(self, event: Event) -> Step:
        """Applies the next event and says what it changed."""
        before = facts(self.state) if self._facts is None else self._facts
        apply_event(self.state, event)
        self._facts = facts(self.state)
        journal = [render_line(line) for line in journal_lines(event)]
        return Step(event, journal, changes(before, self._facts))

    def pass_over(self, event: Event) -> None:
        """Applies the next event without looking at what it changes."""
        apply_event(self.state, event)
        self._facts = None
