"""Why the balancer did nothing in a stretch of a stream: what stood in its way, how often and for how long."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from events.envelope import Event
from events.history import History
from haes import settings
from haes.journal.balance_words import left_out, why_left_out, why_nothing
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.state.restore import replay_state
from replay.history import wanted_events
from replay.language.moment import measured_imbalance
from replay.moments import say_moment, say_span

# What is said of moments in which the balancer gave no reason of its own.
NO_LEADER = "nobody leads"
OFF = "the balancer is off"
MOVING = "a motion of the balancer is under way"
WAITING = "no decision yet: over the threshold, but not for enough rounds, or not looked at"


# What changed how the balancer works.
_CHANGES = {
    "leader.elected": "{node} was elected",
    "settings.changed": "the settings were changed",
    "disarm.requested": "HA was to be taken out of action ({mode})",
    "arm.requested": "HA was to be put back into action",
}


@dataclass(slots=True)
class Reason:
    """Why nothing was done: how many stretches of time had this reason, and seconds in all."""

    times: int = 0
    seconds: float = 0


@dataclass(slots=True)
class Quiet:
    """What is known of a stretch.

    Attributes:
        since, until: its ends, domain time.
        motions: motions that the balancer issued in it.
        reasons: reason -> how often and how long, longest first.
        timeline: (time, number of the event, what was said).
        standing: the refusal that was said before the stretch and held when it began, in the same form, or None.
        left_out: reason -> pairs or bundles that the balancer left out when it looked for a motion.
        last_left_out: what the balancer left out when it looked last, in words.
        imbalance: the last one on record, percent, and its time; None when there is none.
        threshold: percent, at the end.
        rests: what still stands in the way at the end.
    """

    since: float
    until: float
    motions: int = 0
    reasons: dict[str, Reason] = field(default_factory=dict)
    timeline: list[tuple[float, int, str]] = field(default_factory=list)
    standing: tuple[float, int, str] | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    last_left_out: list[str] = field(default_factory=list)
    imbalance: tuple[float, float] | None = None
    threshold: float = 0
    rests: list[str] = field(default_factory=list)

    def to_data(self) -> dict[str, Any]:
        """Returns it as JSON-like data."""
        return {
            "since": self.since,
            "until": self.until,
            "motions": self.motions,
            "reasons": [
                {"reason": name, "times": reason.times, "seconds": reason.seconds}
                for name, reason in self.reasons.items()
            ],
            "timeline": [{"at": at, "n": n, "text": text} for at, n, text in self.timeline],
            "standing": None
            if self.standing is None
            else {"at": self.standing[0], "n": self.standing[1], "text": self.standing[2]},
            "left_out": self.left_out,
            "last_left_out": self.last_left_out,
            "imbalance": None if self.imbalance is None else {"percent": self.imbalance[0], "at": self.imbalance[1]},
            "threshold": self.threshold,
            "rests": self.rests,
        }

    def to_lines(self) -> list[str]:
        """Returns it as lines for people."""
        span = say_span(self.until - self.since)
        motions = f"{self.motions} motion" + ("" if self.motions == 1 else "s")
        lines = [
            f"from {say_moment(self.since)} to {say_moment(self.until)} ({span}): {motions} of the balancer",
            "",
            "Why nothing was done, and how long:",
        ]
        for name, reason in self.reasons.items():
            times = f"{reason.times} time" + ("" if reason.times == 1 else "s")
            lines.append(f"  {say_span(reason.seconds):>8}  {_reason_in_words(name)}, {times}")
        known = "none is on record"
        if self.imbalance is not None:
            known = f"{self.imbalance[0]:.1f}% when last put on record, at {say_moment(self.imbalance[1])}"
        lines += ["", f"Imbalance: {known}; threshold {self.threshold:g}%", "", "What was said:"]
        told = [f"  {say_moment(at):>8}  {text}" for at, _, text in self.timeline]
        if self.standing is not None:
            at, _, text = self.standing
            told.insert(0, f"  {say_moment(at):>8}  {text} (said before, and it held)")
        lines += told or ["  nothing"]
        lines += ["", "What was left out when a motion was looked for:"]
        lines += [
            f"  {why_left_out(name)}, {count} time" + ("" if count == 1 else "s")
            for name, count in self.left_out.items()
        ] or ["  nothing"]
        lines += ["", "What was left out the last time:"]
        lines += [f"  {text}" for text in self.last_left_out] or ["  nothing"]
        lines += ["", "What still stands in the way:"]
        lines += [f"  {rest}" for rest in self.rests] or ["  nothing"]
        return lines


async def explain_quiet(history: History, before: int, since: float, last: int | None = None) -> Quiet:
    """Says why the balancer did nothing after an event, up to another one or the end.

    Args:
        history: where to read.
        before: number of the last event before the stretch.
        since: domain time at which the stretch begins.
        last: number of the last event of the stretch.

    Raises:
        LogFault: an event cannot be understood, or is gone.
    """
    state, quiet = await replay_state(history, before), Quiet(since, since)
    async with aclosing(wanted_events(history, lambda type_, _: type_.startswith(b"balance."), before)) as events:
        async for event in events:
            _measure(quiet, event)
            if event.type == "balance.refused" and event.n <= before:
                quiet.standing = (event.at, event.n, _refused(event.payload))
    if state.balance.refusal is None:
        # Something was done after it.
        quiet.standing = None
    else:
        _leave_out(quiet, state.balance.refusal[1].get("excluded", ()))
    counts: Counter[str] = Counter()
    standing = _standing(state)
    begin = since
    _count(quiet, standing)
    async with aclosing(history.events(before, last)) as events:
        async for event in events:
            apply_event(state, event)
            _measure(quiet, event)
            _note(quiet, counts, event)
            now = _standing(state)
            if now != standing:
                at = max(since, event.at)
                quiet.reasons[standing].seconds += at - begin
                standing, begin = now, at
                _count(quiet, now)
    quiet.until = max(since, state.at)
    quiet.reasons[standing].seconds += quiet.until - begin
    # What lasted no time at all is a step within one round, not a reason; unless there is nothing else.
    lasting = [item for item in quiet.reasons.items() if item[1].seconds] or list(quiet.reasons.items())
    quiet.reasons = dict(sorted(lasting, key=lambda item: (-item[1].seconds, item[0])))
    quiet.left_out = dict(counts.most_common())
    quiet.threshold = settings.crs(state.settings, "ha-auto-rebalance-threshold")
    quiet.rests = _rests(state)
    return quiet


def _measure(quiet: Quiet, event: Event) -> None:
    measured = measured_imbalance(event)
    if measured is not None:
        quiet.imbalance = (measured, event.at)


def _count(quiet: Quiet, name: str) -> None:
    quiet.reasons.setdefault(name, Reason()).times += 1


def _standing(state: ClusterState) -> str:
    """Returns why nothing is done at a moment."""
    memory = state.balance
    if state.leader is None or state.managers.get(state.leader) != "master":
        return NO_LEADER
    if settings.crs(state.settings, "ha-auto-rebalance") == settings.BALANCER_OFF:
        return OFF
    if memory.motion is not None:
        return MOVING
    return WAITING if memory.refusal is None else memory.refusal[0].replace("_", " ")


def _note(quiet: Quiet, counts: Counter[str], event: Event) -> None:
    payload = event.payload
    match event.type:
        case "balance.refused":
            text = _refused(payload)
            if "excluded" in payload["details"]:
                excluded = payload["details"]["excluded"]
                counts.update(item["reason"] for item in excluded)
                _leave_out(quiet, excluded)
        case "balance.motion":
            quiet.motions += 1
            text = f"motion {payload['number']} of {payload['leader']} to {payload['target']}"
            counts.update(item["reason"] for item in payload["excluded"])
            _leave_out(quiet, payload["excluded"])
        case "balance.moved" | "balance.failed" | "balance.dropped" | "balance.paused" | "balance.resumed":
            text = f"{event.type.partition('.')[2]}: {event.about}"
        case "leader.elected" | "settings.changed" | "disarm.requested" | "arm.requested":
            text = _CHANGES[event.type].format_map(payload)
        case _:
            return
    quiet.timeline.append((event.at, event.n, text))


def _refused(payload: Mapping[str, Any]) -> str:
    return why_nothing(payload["reason"], payload["details"], say_moment)


def _leave_out(quiet: Quiet, excluded: Iterable[Mapping[str, Any]]) -> None:
    quiet.last_left_out = [left_out(item, say_moment) for item in excluded]


def _reason_in_words(name: str) -> str:
    """Returns a reason that lasted; its details were others at other times, so they are not part of it."""
    return name if name in {NO_LEADER, OFF, MOVING, WAITING} else why_nothing(name.replace(" ", "_"), {}, say_moment)


def _rests(state: ClusterState) -> list[str]:
    memory, now = state.balance, state.at
    rests = []
    if state.disarm is not None:
        rests.append(f"HA is {state.disarm.state} ({state.disarm.mode})")
    if memory.paused_until is not None and now < memory.paused_until:
        rests.append(f"the balancer pauses until {say_moment(memory.paused_until)}")
    rests += [
        f"{resource} rests until {say_moment(until)}"
        for resource, until in sorted(memory.cooldowns.items())
        if now < until
    ]
    for (resource, target), failure in sorted(memory.failures.items()):
        if failure.until is not None and now < failure.until:
            rests.append(f"{resource} to {target} is left out until {say_moment(failure.until)} ({failure.reason})")
        elif failure.first_series is not None and memory.series < failure.first_series:
            rests.append(f"{resource} to {target} is left out until series {failure.first_series} ({failure.reason})")
    rests += [
        f"{resource} to {target} cannot work until {say_moment(answer.until)}: {', '.join(answer.reasons)}"
        for (resource, target), answer in sorted(memory.impossible.items())
        if now < answer.until
    ]
    return rests
