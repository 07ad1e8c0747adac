"""Why a resource is where it is, what keeps it there, and why the balancer chose or did not: from the stream alone."""

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from events.codec import SUBJECT, TYPE, decode_entry
from events.envelope import Event
from events.history import History
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.state.fold_raw import RawFold

# Event types that tell a resource's story; the others are steps on the way.
_STORY = (
    "resource.added",
    "resource.motion_queued",
    "resource.migrate",
    "resource.relocate",
    "resource.request_start_balance",
    "resource.fence",
    "resource.recovered",
    "resource.error",
    "resource.frozen_by_disarm",
    "resource.motion_failed",
    "resource.removed",
    "job.moved",
)
# The one type that places resources and is not about one of them.
_IMPORTED = b"cluster.imported"


@dataclass(frozen=True, slots=True)
class Step:
    """One fact of a chain: when, its number, and in words."""

    at: float
    n: int
    text: str


@dataclass(slots=True)
class Explanation:
    """What is known about a resource at a point.

    Attributes:
        resource: the resource.
        place: where it is, in words.
        since: when it came there.
        chain: what led there.
        holds: what keeps it from moving now, and until when.
        attempts: the balancer's motions of it, and how they ended.
    """

    resource: str
    place: str
    since: float | None
    chain: list[Step] = field(default_factory=list)
    attempts: list[Step] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)

    def to_data(self) -> dict[str, Any]:
        """Returns the explanation as JSON-like data."""
        return {
            "resource": self.resource,
            "place": self.place,
            "since": self.since,
            "chain": [{"at": step.at, "n": step.n, "text": step.text} for step in self.chain],
            "attempts": [{"at": step.at, "n": step.n, "text": step.text} for step in self.attempts],
            "holds": self.holds,
        }

    def to_text(self) -> str:
        """Returns the explanation as lines for people."""
        since = "" if self.since is None else f", since {self.since:g} s"
        lines = [f"{self.resource} {self.place}{since}", "", "How it came there:"]
        lines += [f"  {step.at:>6g} s  {step.text}" for step in self.chain] or ["  nothing is on record"]
        if self.attempts:
            lines += ["", "What the balancer tried:"]
            lines += [f"  {step.at:>6g} s  {step.text}" for step in self.attempts]
        lines += ["", "What keeps it from moving now:"]
        lines += [f"  {hold}" for hold in self.holds] or ["  nothing"]
        return "\n".join(lines)


class _Told:
    """What was told of a resource so far."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.story: list[Step] = []
        self.attempts: list[Step] = []
        self.arrived: tuple[str, float, int] | None = None

    def hear(self, event: Event) -> None:
        """Takes in an event."""
        if event.subject == self.resource and event.type in _STORY:
            self.story.append(Step(event.at, event.n, _tell(event)))
        if event.type.startswith("balance.") and _concerns(event, self.resource):
            self.attempts.append(Step(event.at, event.n, _tell_balance(event, self.resource)))

    def look(self, state: ClusterState, at: float) -> None:
        """Notes where the resource is, after an event that may have changed it."""
        record = state.resources.get(self.resource)
        if record is not None and (self.arrived is None or self.arrived[0] != record.node):
            self.arrived = (record.node, at, len(self.story))

    def conclude(self, state: ClusterState) -> Explanation:
        """Returns the explanation."""
        return _conclude(state, self.resource, self.story, self.attempts, self.arrived)


def explain_resource(events: Iterable[Event], resource: str) -> tuple[Explanation, ClusterState]:
    """Explains a resource as of the last of the events, which are all from the start."""
    state, told = ClusterState(), _Told(resource)
    for event in events:
        apply_event(state, event)
        told.hear(event)
        told.look(state, event.at)
    return told.conclude(state), state


async def explain_history(history: History, resource: str, last: int | None = None) -> tuple[Explanation, ClusterState]:
    """Explains a resource as of an event, or as of the end; decodes only what is about the resource or the balancer.

    Raises:
        LogFault: an event cannot be understood, or is gone.
    """
    fold, told = RawFold(ClusterState()), _Told(resource)
    subject = resource.encode()
    async with aclosing(history.chunks(0, last)) as chunks:
        async for chunk in chunks:
            done = 0
            for index, (entry_id, flat) in enumerate(chunk):
                about_it = flat[SUBJECT : SUBJECT + 1] == [subject]
                if about_it or flat[TYPE : TYPE + 1] == [_IMPORTED]:
                    # Only these can move the resource, so the state has to be that of this very event.
                    fold.take(chunk[done : index + 1])
                    done = index + 1
                    event = decode_entry(entry_id, flat)
                    told.hear(event)
                    told.look(fold.state, event.at)
                elif len(flat) > TYPE and flat[TYPE].startswith(b"balance."):
                    told.hear(decode_entry(entry_id, flat))
            fold.take(chunk[done:])
    return told.conclude(fold.state), fold.state


def _conclude(
    state: ClusterState,
    resource: str,
    story: list[Step],
    attempts: list[Step],
    arrived: tuple[str, float, int] | None,
) -> Explanation:
    record, configuration = state.resources.get(resource), state.configurations.get(resource)
    if record is None:
        place = "is not looked after" if configuration is not None else "does not exist"
        return Explanation(resource, place, None, story, attempts, [])
    place = f"is on {record.node} ({record.state}" + (f", going to {record.target})" if record.target else ")")
    chain = story[_begin(story, 0 if arrived is None else arrived[2]) :]
    return Explanation(
        resource, place, None if arrived is None else arrived[1], chain, attempts, _holds(state, resource)
    )


def _begin(story: list[Step], end: int) -> int:
    """Returns where the chain that brought the resource to its node begins: at the decision before its arrival."""
    for place in range(min(end, len(story)) - 1, -1, -1):
        if "asked" in story[place].text or "added" in story[place].text or "fenced" in story[place].text:
            return place
    return 0


def _holds(state: ClusterState, resource: str) -> list[str]:
    memory, now = state.balance, state.at
    holds = []
    configuration = state.configurations.get(resource)
    if state.disarm is not None:
        holds.append(f"HA is {state.disarm.state} ({state.disarm.mode}), until somebody arms it")
    if configuration is not None and not configuration.auto_rebalance:
        holds.append("auto-rebalance is 0: the balancer never moves it")
    until = memory.cooldowns.get(resource)
    if until is not None and now < until:
        holds.append(f"it was moved by the balancer and rests for {until - now:g} s more, until {until:g} s")
    for (name, target), failure in sorted(memory.failures.items()):
        if name != resource:
            continue
        attempts = f"{failure.attempts} failed attempt" + ("s" if failure.attempts > 1 else "")
        if failure.until is not None and now < failure.until:
            holds.append(f"{target} is left out until {failure.until:g} s after {attempts} ({failure.reason})")
        elif failure.first_series is not None and memory.series < failure.first_series:
            holds.append(
                f"{target} is left out until series {failure.first_series} (now {memory.series})"
                f" after {attempts} ({failure.reason})"
            )
    for (name, target), answer in sorted(memory.impossible.items()):
        if name == resource and now < answer.until:
            holds.append(f"{target} cannot work until {answer.until:g} s: {', '.join(answer.reasons)}")
    if memory.paused_until is not None and now < memory.paused_until:
        holds.append(
            f"the balancer pauses until {memory.paused_until:g} s after {memory.failed_in_a_row} failures in a row"
        )
    if memory.refusal is not None:
        holds.append(f"the balancer last did nothing because: {memory.refusal[0].replace('_', ' ')}")
    return holds


def _concerns(event: Event, resource: str) -> bool:
    payload = event.payload
    return resource in (payload.get("members") or ()) or payload.get("resource") == resource


def _tell(event: Event) -> str:
    payload = event.payload
    match event.type:
        case "resource.added":
            return f"added on {payload['node']}"
        case "resource.motion_queued":
            return f"asked to {payload['verb']} to {payload['target']} by {_origin(payload['origin'])}"
        case "resource.migrate" | "resource.relocate" | "resource.request_start_balance":
            because = {"placement": "by rules or placement", "rebalance": "for a better start"}.get(
                payload.get("because") or "",
                f"by {_origin(payload['origin'])}" if payload.get("origin") else "by the leader",
            )
            return f"begins to {event.type.partition('.')[2]} from {payload['node']} to {payload['target']}, {because}"
        case "resource.recovered":
            return f"recovered from the fenced node {payload['previous']} to {payload['node']}"
        case "resource.motion_failed":
            return f"the motion failed with exit code {payload['exit_code']}"
        case "job.moved":
            return f"arrived on {payload['target']} ({payload['verb']})"
        case _:
            return event.type.partition(".")[2].replace("_", " ")


def _origin(origin: str) -> str:
    kind, _, number = origin.partition("/")
    return f"the balancer's motion {number}" if kind == "motion" else f"operator's command {number}"


def _tell_balance(event: Event, resource: str) -> str:
    payload = event.payload
    match event.type:
        case "balance.motion":
            before, after = payload["before"] * 100, payload["after"] * 100
            label = "" if payload["leader"] == resource else f" with {payload['leader']}"
            return (
                f"motion {payload['number']}: to {payload['target']}{label}, to bring the imbalance"
                f" from {before:.1f}% to {after:.1f}%"
            )
        case "balance.failed":
            left_out = (
                f"until {payload['until']:g} s"
                if payload.get("until") is not None
                else f"in this series and the next {payload['skip']}"
                if payload.get("skip") is not None
                else "never"
            )
            return f"failed to reach {payload['target']} (attempt {payload['attempts']}); left out {left_out}"
        case "balance.moved":
            return f"reached {payload['target']}"
        case "balance.dropped":
            return f"came to nothing ({payload['reason']}); nobody is to blame"
        case "balance.preflight":
            return f"{payload['target']} cannot work: {', '.join(payload['reasons'])}"
        case _:
            return event.type.partition(".")[2].replace("_", " ")


def explain_motion(event: Event) -> list[str]:
    """Says why the balancer chose a motion: what it brings, what else there was, and what was left out."""
    payload = event.payload
    begin = (
        f"motion {payload['number']} at {event.at:g} s (event {event.n}, series {payload['series']},"
        f" policy {payload['policy']}, method {payload['method']}):"
    )
    effect = (
        f"  {payload['verb']} {', '.join(payload['members'])} from {payload['source']} to {payload['target']},"
        f" imbalance {payload['before'] * 100:.1f}% to {payload['after'] * 100:.1f}%,"
        f" after {payload['streak']} rounds over the threshold"
    )
    lines = [begin, effect, "  the next best were:"]
    lines += [
        f"    {item['resource']} from {item['source']} to {item['target']}: {item['after'] * 100:.1f}%"
        for item in payload["alternatives"]
    ] or ["    none"]
    lines.append("  left out were:")
    lines += [f"    {_left_out(item)}" for item in payload["excluded"]] or ["    none"]
    return lines


def _left_out(item: dict[str, Any]) -> str:
    where = "everywhere" if item["target"] is None else f"to {item['target']}"
    match item["reason"]:
        case "cooldown":
            why = f"rests until {item['until']:g} s"
        case "backoff":
            end = f"until {item['until']:g} s" if "until" in item else f"until series {item['first_series']}"
            why = f"failed {item['attempts']} times ({item['why']}), {end}"
        case "preflight":
            why = f"cannot work: {item['why']}"
        case "ceiling":
            why = f"would fill the node to {item['percent']}%"
        case "flag":
            why = "auto-rebalance is 0"
        case _:
            why = "its load was not measured"
    member = "" if item["resource"] == item["leader"] else f" (member {item['resource']})"
    return f"{item['leader']}{member} {where}: {why}"


def explain_quiet(events: Iterable[Event], since: float) -> list[str]:
    """Says why the balancer did nothing since a time: every change of reason, and the motions in between."""
    lines = []
    for event in events:
        if event.at < since:
            continue
        if event.type == "balance.refused":
            shown = ", ".join(
                f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
                for key, value in event.payload["details"].items()
                if key in {"imbalance", "resource", "until"}
            )
            reason = event.payload["reason"].replace("_", " ")
            lines.append(f"{event.at:g} s: {reason}" + (f" ({shown})" if shown else ""))
        elif event.type == "balance.motion":
            payload = event.payload
            lines.append(f"{event.at:g} s: motion {payload['number']} of {payload['leader']} to {payload['target']}")
        elif event.type in {"balance.paused", "balance.resumed"}:
            lines.append(f"{event.at:g} s: {event.type.partition('.')[2]}")
    return lines or ["the balancer never looked: it is off, or nobody leads"]
