"""What other settings would have done: two stories from one set of inputs, counted, and where they part."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, zip_longest
from typing import Any

from events.envelope import Event
from haes.journal import journal_lines
from haes.settings import Settings, crs
from replay.again import Again
from replay.decisions import differing_fields, essence
from replay.moments import say_moment
from replay.recording import Recording
from replay.told import told

PERCENT = 100
# Lines of the course of the imbalance: enough to see where the two stories go.
COURSE_LINES = 12
# Who changes settings, and what a simulation writes of them, is the question and not an answer.
_SETTINGS = frozenset({"settings.changed", "simulation.started"})
# Fields that only repeat a setting.
_ECHOES = {"balance.motion": ("policy", "method"), "balance.failed": ("policy",)}


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened in a story from a point on. Imbalances are percent.

    Attributes:
        motions: motions that the balancer issued.
        failed: members of any motion that did not arrive.
        arrived: members of the balancer's motions that arrived.
        interruptions: times that a running resource was stopped in order to move.
        recovered: times that a resource was recovered from a fenced node.
        rounds_over: rounds of all nodes that ended with an imbalance over the recorded threshold.
        mean, highest, last: imbalance of the real loads; None when it was never measured.
    """

    motions: int
    failed: int
    arrived: int
    interruptions: int
    recovered: int
    rounds_over: int
    mean: float | None
    highest: float | None
    last: float | None


def tally(story: Again, since: int, begin: float, threshold: float) -> Tally:
    """Counts what happened after an event and from a time on; `threshold` is in percent."""
    later = [event for event in story.events if event.n > since]
    motions = [event for event in story.events if event.type == "balance.motion"]
    course = [value * PERCENT for at, value in story.imbalance.items() if at >= begin]
    return Tally(
        motions=sum(event.type == "balance.motion" for event in later),
        # A policy without memory records no outcome, so failures are counted where they happen.
        failed=sum(event.type == "resource.motion_failed" for event in later),
        arrived=sum(event.type == "job.moved" and _is_balancers(event, motions) for event in later),
        interruptions=sum(event.type == "job.stopping" and bool(event.payload.get("relocate")) for event in later),
        recovered=sum(event.type == "resource.recovered" for event in later),
        rounds_over=sum(value > threshold for value in course),
        mean=sum(course) / len(course) if course else None,
        highest=max(course, default=None),
        last=course[-1] if course else None,
    )


def _is_balancers(event: Event, motions: Sequence[Event]) -> bool:
    return any(
        event.subject in motion.payload["members"]
        and event.payload["target"] == motion.payload["target"]
        and motion.at <= event.at
        for motion in motions
    )


@dataclass(frozen=True, slots=True)
class Parting:
    """The first event in which two stories differ; None for a story that has nothing more."""

    at: float
    recorded: Event | None
    otherwise: Event | None

    def to_data(self) -> dict[str, Any]:
        """Returns the parting as JSON-like data."""
        return {"at": self.at, "recorded": _event_data(self.recorded), "otherwise": _event_data(self.otherwise)}


def _event_data(event: Event | None) -> dict[str, Any] | None:
    if event is None:
        return None
    keys = ("n", "at", "type", "subject", "by", "about")
    return {key: getattr(event, key) for key in keys} | {"payload": dict(event.payload)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was recorded, what would have been, and where the two part.

    Attributes:
        since: the event after which the other settings came into force, 0 for from the start.
        begin: domain time of that event.
        recorded, otherwise: what happened from there on.
        parting: the first difference, None when there is none.
        course: (time, imbalance recorded, imbalance otherwise) in percent, where one of them changed.
    """

    since: int
    begin: float
    recorded: Tally
    otherwise: Tally
    parting: Parting | None
    course: list[tuple[float, float | None, float | None]]

    def to_data(self) -> dict[str, Any]:
        """Returns the comparison as JSON-like data."""
        return {
            "since": self.since,
            "begin": self.begin,
            "recorded": asdict(self.recorded),
            "otherwise": asdict(self.otherwise),
            "parting": None if self.parting is None else self.parting.to_data(),
            "course": [{"at": at, "recorded": one, "otherwise": other} for at, one, other in self.course],
        }

    def to_text(self) -> str:
        """Returns the comparison as lines for people."""
        one, other = self.recorded, self.otherwise
        rows: list[tuple[str, object, object]] = [
            ("motions of the balancer", one.motions, other.motions),
            ("failed motions", one.failed, other.failed),
            ("arrived", one.arrived, other.arrived),
            ("stopped in order to move", one.interruptions, other.interruptions),
            ("recovered from fenced nodes", one.recovered, other.recovered),
            ("rounds over the threshold", one.rounds_over, other.rounds_over),
            ("imbalance, mean", _percent(one.mean), _percent(other.mean)),
            ("imbalance, highest", _percent(one.highest), _percent(other.highest)),
            ("imbalance, at the end", _percent(one.last), _percent(other.last)),
        ]
        lines = []
        if self.since:
            lines = [f"other settings after event {self.since} at {say_moment(self.begin)}; counted from there on", ""]
        lines.append(_row("", "recorded", "otherwise"))
        lines += [_row(*row) for row in rows]
        lines += ["", _row("imbalance over time", "recorded", "otherwise")]
        lines += [_row(f"  from {say_moment(at)}", _percent(a), _percent(b)) for at, a, b in _thinned(self.course)]
        return "\n".join([*lines, "", *self._parting_lines()])

    def _parting_lines(self) -> list[str]:
        parting = self.parting
        if parting is None:
            return ["Both tell the same story."]
        return [
            f"Before {say_moment(parting.at)} both are the same; what comes then was never observed. First divergence:",
            *_event_lines("recorded", parting.recorded),
            *_event_lines("otherwise", parting.otherwise),
            *_fields(parting),
        ]


def _row(name: str, recorded: object, otherwise: object) -> str:
    return f"{name:<28}{recorded:>10}{otherwise:>12}".rstrip()


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}%"


def _event_lines(label: str, event: Event | None) -> list[str]:
    if event is None:
        return [f"  {label:<10} nothing more"]
    about = f" ({event.about})" if event.about else ""
    lines = [f"  {label:<10} event {event.n} at {say_moment(event.at)}: {event.type} of {event.subject}{about}"]
    return lines + [f"  {'':<10} | {told(line)}" for line in journal_lines(event)]


def _fields(parting: Parting) -> list[str]:
    """Returns in what two events of one kind differ; different kinds speak for themselves."""
    one, other = parting.recorded, parting.otherwise
    if one is None or other is None or (one.type, one.subject) != (other.type, other.subject):
        return []
    return [f"  recorded / otherwise: {differing_fields(one, other)}"]


def _thinned(
    course: Sequence[tuple[float, float | None, float | None]],
) -> list[tuple[float, float | None, float | None]]:
    """Returns at most so many lines, the first and the last among them."""
    if len(course) <= COURSE_LINES:
        return list(course)
    step = (len(course) - 1) / (COURSE_LINES - 1)
    return [course[round(number * step)] for number in range(COURSE_LINES)]


def compare(recorded: Again, otherwise: Again, settings: Settings, since: int = 0) -> Comparison:
    """Compares two stories from one set of inputs.

    Args:
        recorded: the story as it was.
        otherwise: the story with other settings.
        settings: the recorded settings.
        since: the event after which the other settings came into force, 0 for from the start.
    """
    begin = next((event.at for event in recorded.events if event.n == since), 0.0)
    threshold = crs(settings, "ha-auto-rebalance-threshold")
    return Comparison(
        since,
        begin,
        tally(recorded, since, begin, threshold),
        tally(otherwise, since, begin, threshold),
        _parting(recorded.events, otherwise.events),
        _course(recorded.imbalance, otherwise.imbalance, begin),
    )


def _parting(recorded: Sequence[Event], otherwise: Sequence[Event]) -> Parting | None:
    stories = ([event for event in events if event.type not in _SETTINGS] for events in (recorded, otherwise))
    for one, other in zip_longest(*stories):
        if one is None or other is None or _told(one) != _told(other):
            return Parting(min(event.at for event in (one, other) if event is not None), one, other)
    return None


def _told(event: Event) -> dict[str, Any]:
    """Returns what happened, without what only repeats a setting."""
    told = essence(event)
    for name in _ECHOES.get(event.type, ()):
        told.pop(f"payload {name}", None)
    return told


def _course(
    recorded: Mapping[float, float], otherwise: Mapping[float, float], begin: float
) -> list[tuple[float, float | None, float | None]]:
    """Returns where one of two courses changed, in percent with one decimal."""

    def shown(course: Mapping[float, float], at: float) -> float | None:
        return round(course[at] * PERCENT, 1) if at in course else None

    points = [
        (at, shown(recorded, at), shown(otherwise, at))
        for at in sorted(recorded.keys() | otherwise.keys())
        if at >= begin
    ]
    return [next(same) for _, same in groupby(points, key=lambda point: point[1:])]


@dataclass(frozen=True, slots=True)
class PlayedComparison:
    """The same for a live cluster, whose recording was played twice.

    Attributes:
        comparison: of the two stories that were played; `recorded` is the one with the recorded settings.
        recording: what was played.
        leaves: where the story with the recorded settings leaves what the balancer really did; None when it does not.
    """

    comparison: Comparison
    recording: Recording
    leaves: str | None

    def to_data(self) -> dict[str, Any]:
        """Returns the comparison as JSON-like data."""
        recording = self.recording
        really = {"motions": len(recording.motions), "failed": recording.failed}
        span = {"from": recording.begin, "until": recording.end}
        return {"played": span, "really": really, "leaves": self.leaves, **self.comparison.to_data()}

    def to_text(self) -> str:
        """Returns the comparison as lines for people."""
        recording = self.recording
        lines = [
            f"Played from {say_moment(recording.begin)} to {say_moment(recording.end)}: the recorded loads, commands,",
            "failing motions and absences of nodes, in a simulated cluster, once with the recorded settings and once",
            "with the others. The balancer begins without memory of what was before.",
            "",
            f"Really the balancer issued {len(recording.motions)} motions; failed motions: {recording.failed}.",
            f"The story with the recorded settings {self.leaves or 'has the same motions'}.",
            "",
        ]
        return "\n".join(lines) + self.comparison.to_text()


def compare_played(recording: Recording, recorded: Again, otherwise: Again) -> PlayedComparison:
    """Compares what was played with the recorded settings and with others, and the former with what really was."""
    played = [
        (event.at, event.payload["leader"], event.payload["target"])
        for event in recorded.events
        if event.type == "balance.motion"
    ]
    return PlayedComparison(compare(recorded, otherwise, recording.settings), recording, _leaves(recording, played))


def _leaves(recording: Recording, played: Sequence[tuple[float, str, str]]) -> str | None:
    for number, (real, again) in enumerate(zip_longest(recording.motions, played), 1):
        if real is None:
            at, leader, target = again
            return f"leaves this at motion {number}: {leader} to {target} at {say_moment(at)}, where really was none"
        was = f"{real.leader} to {real.target} at {say_moment(real.at)}"
        if again is None:
            return f"leaves this at motion {number}, which it does not have: {was}"
        if again[1:] != (real.leader, real.target):
            at, leader, target = again
            return f"leaves this at motion {number}: {leader} to {target} at {say_moment(at)} instead of {was}"
    return None
