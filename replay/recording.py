"""What a live cluster left behind that its story can be played from again: state, samples of load, commands, faults.

Loads are the means over the window that the balancer used, every few seconds. A motion fails again where it failed; one
that nobody tried is taken to succeed. Nothing here runs anything.
"""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Any

from events.errors import UserError
from events.history import History
from events.log.side import SideEntry
from haes import settings as cluster_settings
from haes.settings import Settings
from haes.state.cluster import ClusterState
from haes.state.restore import replay_state
from haes.telemetry import SampleWindow, decode, taken_at
from replay.history import wanted_events
from replay.points import Point, find_begin, find_point

# Seconds between two changes of the loads.
STEP = 10.0
# Event types that tell what came from outside, how motions ended, and what the balancer did.
_TOLD = frozenset(
    {
        *(b"command.received", b"node.unknown", b"node.online", b"balance.motion"),
        *(b"resource.migrate", b"resource.relocate", b"resource.motion_failed", b"job.moved"),
    }
)


@dataclass(frozen=True, slots=True)
class LoadStep:
    """Loads from a moment on: resource -> (cores, bytes), and node -> the same of others than its resources."""

    at: float
    resources: dict[str, tuple[float, int]]
    others: dict[str, tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A command: when, what, by whom."""

    at: float
    verb: str
    arguments: list[str]
    user: str


@dataclass(frozen=True, slots=True)
class Presence:
    """A node that left or came back."""

    at: float
    node: str
    here: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    """A motion that the balancer really issued."""

    at: float
    leader: str
    target: str


@dataclass(slots=True)
class Recording:
    """Everything from a moment on. Times are domain time, seconds.

    Attributes:
        begin, end: where it begins and ends.
        nodes: node -> maxcpu, maxmem, as far as they are known; all that belong to the cluster.
        present: the nodes that are there at the beginning.
        resources: resource -> configuration at the beginning, on the node where it is.
        limits: resource -> maxcpu, maxmem.
        settings, rules: in force at the beginning.
        loads: in order of time, the first at the beginning.
        asked: what operators asked for.
        presence: nodes that left or came back.
        attempts: (resource, target) -> (time, whether it arrived), of every motion that ended.
        motions: what the balancer really did.
    """

    begin: float
    end: float
    nodes: dict[str, dict[str, float]]
    present: list[str]
    resources: dict[str, dict[str, Any]]
    limits: dict[str, dict[str, float]]
    settings: Settings
    rules: str
    loads: list[LoadStep] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    presence: list[Presence] = field(default_factory=list)
    attempts: dict[tuple[str, str], list[tuple[float, bool]]] = field(default_factory=dict)
    motions: list[Chosen] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """How many motions really failed."""
        return sum(not arrived for ends in self.attempts.values() for _, arrived in ends)

    def fails(self, resource: str, target: str, at: float) -> bool:
        """Says whether a motion fails at a moment, as the attempt before it did, or else the first one after it."""
        ends = self.attempts.get((resource, target))
        if not ends:
            return False
        before = [arrived for time, arrived in ends if time <= at]
        return not (before[-1] if before else ends[0][1])


async def read_recording(history: History, samples: Sequence[SideEntry], begin: str | None) -> Recording:
    """Returns what can be played from a point on, or from as far back as there are samples.

    Raises:
        UserError: there are no samples, or none that go back to that point.
        LogFault: what is between there and the end cannot be read.
    """
    if not samples:
        raise UserError(
            "there is nothing to play: no simulation wrote this stream, and there are no samples of load beside it"
        )
    point = await _begin(history, begin, _known_from(samples))
    state = await replay_state(history, point.n)
    now = await replay_state(history)
    recording = Recording(
        begin=point.at,
        end=max(now.at, taken_at(samples[-1])),
        nodes={node: {} for node in sorted(state.members)},
        present=sorted(node for node in state.members if state.node_state(node) == "online"),
        resources={name: _configuration(state, name) for name in sorted(state.configurations)},
        limits={},
        settings=state.settings,
        rules=state.rules_text,
    )
    _read_loads(recording, samples, state, now)
    await _read_events(history, recording, point.n)
    return recording


def _known_from(samples: Sequence[SideEntry]) -> float:
    """Returns the time from which there is a sample of every node that was ever measured."""
    first: dict[str, float] = {}
    for entry in samples:
        sample = decode(entry)
        if sample is not None:
            first.setdefault(sample.node, taken_at(entry))
    return max(first.values(), default=taken_at(samples[0]))


async def _begin(history: History, begin: str | None, first: float) -> Point:
    """Returns the last event that the beginning knows of, and the time of the beginning."""
    text = f"@{first!r}" if begin is None else begin
    # What happened at the very moment is known by then.
    n, at = (await find_point(history, text)).n, (await find_begin(history, text)).at
    if at < first:
        raise UserError(f"--from {begin}: samples of all nodes go back to @{first:.0f} only; they are kept for an hour")
    return Point(n, at)


def _configuration(state: ClusterState, resource: str) -> dict[str, Any]:
    record = state.resources.get(resource)
    configuration = asdict(state.configurations[resource])
    return configuration if record is None else {**configuration, "node": record.node}


def _read_loads(recording: Recording, samples: Sequence[SideEntry], state: ClusterState, now: ClusterState) -> None:
    seconds = float(cluster_settings.crs(state.settings, "ha-load-average-window"))
    window = SampleWindow()
    due = recording.begin
    for place, sample in enumerate(samples):
        window.add(sample)
        following = taken_at(samples[place + 1]) if place + 1 < len(samples) else float("inf")
        if following <= due:
            continue
        window.forget(seconds)
        # Resources that were added later are in the later state, those that are gone in the earlier.
        for known in (state, now):
            loads = window.loads(known)
            for node, capacity in loads.capacities.items():
                recording.nodes.setdefault(node, {}).update(maxcpu=capacity.maxcpu, maxmem=capacity.maxmem)
            for name, limit in loads.limits.items():
                recording.limits[name] = {"maxcpu": limit.maxcpu, "maxmem": limit.maxmem}
        used = {
            name: (load.cpu, int(load.mem))
            for known in (now, state)
            for name, load in window.loads(known).resource_loads.items()
        }
        recording.loads.append(LoadStep(max(recording.begin, taken_at(sample)), used, window.others()))
        due = taken_at(sample) + STEP


async def _read_events(history: History, recording: Recording, before: int) -> None:
    targets: dict[str, str] = {}
    wanted = wanted_events(history, lambda type_, _: type_ in _TOLD, after=before)
    async with aclosing(wanted) as events:
        async for event in events:
            payload = event.payload
            match event.type:
                case "command.received":
                    asked = Asked(event.at, payload["verb"], list(payload["arguments"]), payload["user"])
                    recording.asked.append(asked)
                case "node.unknown" | "node.online":
                    recording.presence.append(Presence(event.at, event.subject, event.type == "node.online"))
                case "balance.motion":
                    recording.motions.append(Chosen(event.at, payload["leader"], payload["target"]))
                case "job.moved":
                    recording.attempts.setdefault((event.subject, payload["target"]), []).append((event.at, True))
                case "resource.migrate" | "resource.relocate":
                    targets[event.subject] = payload["target"]
                case "resource.motion_failed" if event.subject in targets:
                    pair = event.subject, targets[event.subject]
                    recording.attempts.setdefault(pair, []).append((event.at, False))
