"""What other settings would have done: two streams of one story, counted and compared."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from events.envelope import Event
from haes.journal import journal_lines, render_line


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened in a stream.

    Attributes:
        motions: motions that the balancer issued.
        failed: members of them that did not arrive.
        moved: members that arrived.
        interruptions: times that a running resource was stopped for a motion.
        imbalance: highest imbalance at which a motion was chosen, and what the last motion was to leave, percent.
    """

    motions: int
    failed: int
    moved: int
    interruptions: int
    imbalance: tuple[float, float]


def tally(events: Sequence[Event]) -> Tally:
    """Counts what happened in a stream."""
    motions = [event for event in events if event.type == "balance.motion"]
    stops = [event for event in events if event.type == "job.stopping" and event.payload.get("relocate")]
    # A policy without memory records no outcome, so failures are counted where they happen.
    failed = [event for event in events if event.type == "resource.motion_failed"]
    highest = max((event.payload["before"] for event in motions), default=0.0)
    left = motions[-1].payload["after"] if motions else 0.0
    arrivals = [event for event in events if event.type == "job.moved" and _is_balancers(event, motions)]
    return Tally(len(motions), len(failed), len(arrivals), len(stops), (highest * 100, left * 100))


def _is_balancers(event: Event, motions: Sequence[Event]) -> bool:
    return any(
        event.subject in motion.payload["members"]
        and event.payload["target"] == motion.payload["target"]
        and motion.at <= event.at
        for motion in motions
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was recorded, what would have been, and the first line of the journal in which they differ."""

    recorded: Tally
    otherwise: Tally
    parts_at: float | None
    recorded_line: str | None
    other_line: str | None

    def to_data(self) -> dict[str, Any]:
        """Returns the comparison as JSON-like data."""
        return asdict(self)

    def to_text(self) -> str:
        """Returns the comparison as lines for people."""
        rows = (
            ("motions of the balancer", self.recorded.motions, self.otherwise.motions),
            ("failed motions", self.recorded.failed, self.otherwise.failed),
            ("arrived", self.recorded.moved, self.otherwise.moved),
            ("stopped in order to move", self.recorded.interruptions, self.otherwise.interruptions),
            ("highest imbalance", f"{self.recorded.imbalance[0]:.1f}%", f"{self.otherwise.imbalance[0]:.1f}%"),
            ("after the last motion", f"{self.recorded.imbalance[1]:.1f}%", f"{self.otherwise.imbalance[1]:.1f}%"),
        )
        lines = [f"{'':<26}{'recorded':>10}{'otherwise':>12}"]
        lines += [f"{name:<26}{recorded:>10}{other:>12}" for name, recorded, other in rows]
        if self.parts_at is None:
            lines += ["", "Both tell the same story."]
        else:
            lines += ["", f"Up to {self.parts_at:g} s both are the same; what comes then was never observed:"]
            lines += [f"  recorded   {self.recorded_line or 'nothing more'}"]
            lines += [f"  otherwise  {self.other_line or 'nothing more'}"]
        return "\n".join(lines)


def compare(recorded: Sequence[Event], otherwise: Sequence[Event]) -> Comparison:
    """Compares two streams of one story."""
    one, other = ([line for event in events for line in journal_lines(event)] for events in (recorded, otherwise))
    for place in range(max(len(one), len(other))):
        left = one[place] if place < len(one) else None
        right = other[place] if place < len(other) else None
        if left != right:
            at = min(line.at for line in (left, right) if line is not None)
            return Comparison(
                tally(recorded),
                tally(otherwise),
                at,
                None if left is None else render_line(left),
                None if right is None else render_line(right),
            )
    return Comparison(tally(recorded), tally(otherwise), None, None, None)
