"""Why a resource is where it is, what led there, and what keeps it there: from the stream alone."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from events.codec import SUBJECT, TYPE, decode_entry
from events.envelope import Event
from events.errors import EntryCorrupt, EventUnknown
from events.history import History
from events.log.port import RawEntry
from haes.state.cluster import ClusterState
from haes.state.fold_raw import RawFold
from haes.state.restarts import ServiceMemory, describe_series, how_it_ended
from replay.moments import say_moment

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
    "motion.failed",
    "service.died",
    "service.healthy",
    "service.retried",
    "job.moved",
)
# Deaths of a service that are told one by one.
DEATHS_TOLD = 20
# What ends the states in which a resource is not moved.
_WAYS_OUT = {
    "error": "people who look after it and let it begin anew (haes retry)",
    "fence": "proof that its node runs nothing any more",
    "recovery": "a node that can take it",
    "freeze": "its agent, once it is back, or arming HA",
}
# With one of these a chain begins: nothing before it explains what came after.
_BEGINNINGS = frozenset({"resource.added", "resource.motion_queued", "resource.fence"})
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

    def to_lines(self) -> list[str]:
        """Returns the explanation as lines for people."""
        since = "" if self.since is None else f", since {say_moment(self.since)}"
        lines = [f"{self.resource} {self.place}{since}", "", "How it came there:"]
        lines += [f"  {say_moment(step.at):>8}  {step.text}" for step in self.chain] or ["  nothing is on record"]
        if self.attempts:
            lines += ["", "What the balancer tried:"]
            lines += [f"  {say_moment(step.at):>8}  {step.text}" for step in self.attempts]
        lines += ["", "What keeps it from moving now:"]
        lines += [f"  {hold}" for hold in self.holds] or ["  nothing"]
        return lines


class _Told:
    """What was told of a resource so far."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.story: list[tuple[Event, Step]] = []
        self.attempts: list[Step] = []
        self.arrived: tuple[str, float, int] | None = None

    def hear(self, entry: RawEntry) -> Event | None:
        """Takes in an event; None when it cannot be understood, which the fold has its say about."""
        try:
            event = decode_entry(*entry)
        except (EntryCorrupt, EventUnknown):
            return None
        if event.subject == self.resource and event.type in _STORY:
            self.story.append((event, Step(event.at, event.n, _tell(event))))
        if event.type.startswith("balance.") and _concerns(event, self.resource):
            self.attempts.append(Step(event.at, event.n, _tell_balance(event, self.resource)))
        return event

    def look(self, state: ClusterState, at: float) -> None:
        """Notes where the resource is, after an event that may have changed it."""
        record = state.resources.get(self.resource)
        if record is not None and (self.arrived is None or self.arrived[0] != record.node):
            self.arrived = (record.node, at, len(self.story))

    def conclude(self, state: ClusterState) -> Explanation:
        """Returns the explanation."""
        return _conclude(state, self.resource, self.story, self.attempts, self.arrived)


async def explain_resource(
    history: History, resource: str, last: int | None = None
) -> tuple[Explanation, ClusterState]:
    """Explains a resource as of an event, or as of the end; decodes only what is about the resource or the balancer.

    Raises:
        LogFault: an event cannot be understood, or is gone.
    """
    fold, told = RawFold(ClusterState(), lenient=history.lenient), _Told(resource)
    subject = resource.encode()
    async with aclosing(history.chunks(0, last)) as chunks:
        async for chunk in chunks:
            done = 0
            for index, entry in enumerate(chunk):
                _, flat = entry
                about_it = flat[SUBJECT : SUBJECT + 1] == [subject]
                if not (about_it or flat[TYPE : TYPE + 1] == [_IMPORTED]):
                    if len(flat) > TYPE and flat[TYPE].startswith(b"balance."):
                        told.hear(entry)
                    continue
                # Only these can move the resource, so the state has to be that of this very event.
                fold.take(chunk[done : index + 1])
                done = index + 1
                event = told.hear(entry)
                if event is not None:
                    told.look(fold.state, event.at)
            fold.take(chunk[done:])
    return told.conclude(fold.state), fold.state


def _conclude(
    state: ClusterState,
    resource: str,
    story: list[tuple[Event, Step]],
    attempts: list[Step],
    arrived: tuple[str, float, int] | None,
) -> Explanation:
    record, configuration = state.resources.get(resource), state.configurations.get(resource)
    if record is None:
        place = "is not looked after" if configuration is not None else "does not exist"
        return Explanation(resource, place, None, [step for _, step in story], attempts, _holds(state, resource))
    place = f"is on {record.node} ({record.state}" + (f", going to {record.target})" if record.target else ")")
    chain = _shortened(story[_begin(story, 0 if arrived is None else arrived[2]) :])
    return Explanation(
        resource, place, None if arrived is None else arrived[1], chain, attempts, _holds(state, resource)
    )


def _shortened(story: list[tuple[Event, Step]]) -> list[Step]:
    """Returns a chain's steps; of very many deaths the last ones say enough."""
    deaths = [event.n for event, _ in story if event.type == "service.died"]
    first = deaths[-DEATHS_TOLD] if len(deaths) > DEATHS_TOLD else 0
    steps = [step for event, step in story if event.type != "service.died" or event.n >= first]
    if first:
        left_out = len(deaths) - DEATHS_TOLD
        at = next(place for place, step in enumerate(steps) if step.n == first)
        steps.insert(at, Step(steps[at].at, first, f"({left_out} deaths before this one are left out)"))
    return steps


def _begin(story: list[tuple[Event, Step]], end: int) -> int:
    """Returns where the chain that brought the resource to its node begins: at the decision before its arrival."""
    for place in range(min(end, len(story)) - 1, -1, -1):
        event = story[place][0]
        if event.type in _BEGINNINGS or event.payload.get("because") in {"placement", "rebalance"}:
            return place
    return 0


def _holds(state: ClusterState, resource: str) -> list[str]:
    memory, now = state.balance, state.at
    holds = []
    if state.disarm is not None:
        holds.append(f"HA is {state.disarm.state} ({state.disarm.mode}), until somebody arms it")
    holds += _holds_of_itself(state, resource)
    until = memory.cooldowns.get(resource)
    if until is not None and now < until:
        holds.append(f"it was moved by the balancer and rests for {until - now:g} s more, until {say_moment(until)}")
    for (name, target), failure in sorted(memory.failures.items()):
        if name != resource:
            continue
        attempts = f"{failure.attempts} failed attempt" + ("s" if failure.attempts > 1 else "")
        if failure.until is not None and now < failure.until:
            holds.append(f"{target} is left out until {say_moment(failure.until)} after {attempts} ({failure.reason})")
        elif failure.first_series is not None and memory.series < failure.first_series:
            holds.append(
                f"{target} is left out until series {failure.first_series} (now {memory.series})"
                f" after {attempts} ({failure.reason})"
            )
    holds += [
        f"nothing is moved to {node} until {say_moment(trouble.until)} after {trouble.failures} failed motions there"
        f" ({trouble.reason})"
        for node, trouble in sorted(memory.nodes.items())
        if trouble.until is not None and now < trouble.until
    ]
    for (name, target), answer in sorted(memory.impossible.items()):
        if name == resource and now < answer.until:
            holds.append(f"{target} cannot work until {say_moment(answer.until)}: {', '.join(answer.reasons)}")
    if memory.paused_until is not None and now < memory.paused_until:
        end, failures = say_moment(memory.paused_until), memory.failed_in_a_row
        holds.append(f"the balancer pauses until {end} after {failures} failures in a row")
    if memory.refusal is not None:
        holds.append(f"the balancer last did nothing because: {memory.refusal[0].replace('_', ' ')}")
    return holds


def _holds_of_itself(state: ClusterState, resource: str) -> list[str]:
    """Returns what about the resource itself keeps it from moving, whoever asks."""
    holds = []
    record, configuration = state.resources.get(resource), state.configurations.get(resource)
    parked = state.parked.get(resource)
    if parked is not None:
        holds.append(
            f"event {parked.n} about it could not be applied, so nothing about it is any more: {parked.reason}"
        )
    if record is not None and record.state in {"error", "fence", "recovery", "freeze"}:
        holds.append(f"it is in state {record.state}, from which nothing moves it but {_WAYS_OUT[record.state]}")
    memory = state.services.get(resource)
    if memory is not None and memory.series:
        holds.append(f"it failed: {describe_series(memory)}; {_what_follows(memory, state.at)}")
        failed = [] if record is None else record.failed_nodes or []
        if failed:
            holds.append(f"it died too often on {', '.join(failed)}, where it is not started until it has been well")
    if configuration is None:
        return holds
    if configuration.state != "started":
        holds.append(f"it is asked to be {configuration.state}")
    if configuration.lock is not None:
        holds.append(f"it is locked ({configuration.lock})")
    if not configuration.auto_rebalance:
        holds.append("auto-rebalance is 0: the balancer never moves it")
    return holds


def _what_follows(memory: ServiceMemory, now: float) -> str:
    if memory.up_since is not None:
        return f"up since {say_moment(memory.up_since)}"
    if memory.until is not None and now < memory.until:
        return f"not started again before {say_moment(memory.until)}"
    return "not up since"


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
        case "resource.fence":
            return "its node does not answer and is to be fenced"
        case "resource.recovered":
            return f"recovered from the fenced node {payload['previous']} to {payload['node']}"
        case "resource.motion_failed":
            return f"the motion failed with exit code {payload['exit_code']}"
        case "service.died":
            return _tell_death(payload, event.at)
        case "service.healthy":
            return "well for long enough: what it died of before counts no longer"
        case "service.retried":
            return "an operator lets it begin anew"
        case "motion.failed":
            return f"did not reach {payload['target']} (attempt {payload['attempts']}: {payload['reason']})"
        case "job.moved":
            return f"arrived on {payload['target']} ({payload['verb']})"
        case _:
            return event.type.partition(".")[2].replace("_", " ")


def _tell_death(payload: Mapping[str, Any], at: float) -> str:
    said = f"ended by itself on {payload['node']} after {payload['ran']:.1f} s: {how_it_ended(payload)}"
    match payload.get("plan"):
        case "restart":
            said += f"; failure {payload['failures']} there, started again in {payload['until'] - at:.1f} s"
        case "relocate":
            said += f"; failure {payload['failures']} there, which is too often"
    if payload["lines"]:
        said += f"; it said: {payload['lines'][-1]}"
    return said


def _origin(origin: str) -> str:
    kind, _, number = origin.partition("/")
    return f"the balancer's motion {number}" if kind == "motion" else f"operator's command {number}"


def _tell_balance(event: Event, resource: str) -> str:
    payload = event.payload
    match event.type:
        case "balance.motion":
            before, after = payload["before"] * 100, payload["after"] * 100
            label = "" if payload["leader"] == resource else f" with {payload['leader']}"
            step = "" if payload.get("plan") is None else f", step {payload['step']} of plan {payload['plan']}"
            return (
                f"motion {payload['number']}{step}: to {payload['target']}{label}, to bring the imbalance"
                f" from {before:.1f}% to {after:.1f}%"
            )
        case "balance.failed":
            left_out = (
                f"until {say_moment(payload['until'])}"
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
