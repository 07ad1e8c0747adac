"""Whether a stream is sound: numbers, transitions, epochs, causes, snapshots, and decisions that come out again."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from events.envelope import Event
from events.errors import LogFault
from events.history import History
from events.log.port import EventLog
from events.snapshots import snapshots_before
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.state.snapshot import decode_state
from replay.again import recorded_scenario, run_again


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: at which event, by which check, and what."""

    n: int
    check: str
    text: str


@dataclass(slots=True)
class Report:
    """What verifying a stream showed.

    Attributes:
        events: how many were looked at.
        findings: what is wrong.
        checks: what was checked, and for what could not be checked, why.
    """

    events: int
    findings: list[Finding]
    checks: dict[str, str]


async def verify(log: EventLog | History) -> Report:
    """Checks a whole stream in one pass; only a simulation's is kept in memory, to be decided again."""
    history = log if isinstance(log, History) else History(log)
    report = Report(0, [], {})
    look = _Look(report.findings, await _snapshots(history))
    try:
        async with aclosing(history.events()) as events:
            async for event in events:
                look.at(event)
                report.events = event.n
    except LogFault as fault:
        report.findings.append(Finding(report.events + 1, "entries", str(fault)))
    report.checks["entries"] = "every entry can be read, numbers are contiguous"
    report.checks["transitions"] = "every change of state is legal"
    report.checks["epochs"] = "every leader's epoch is higher than the one before"
    report.checks["causes"] = "every cause that is named came before"
    report.checks["snapshots"] = f"{look.snapshots_seen} snapshots equal the fold"
    await _check_decisions(look.simulated, report)
    return report


async def _snapshots(history: History) -> dict[int, bytes]:
    """Returns the snapshots that belong to this log, by number."""
    found = snapshots_before(history.log, archived=history.folder is not None)
    return {snapshot.checkpoint.n: snapshot.data async for snapshot in found}


class _Look:
    """Looks at one event after the other.

    Attributes:
        simulated: the events of a simulation, which can be decided again; few or none for other streams.
        snapshots_seen: how many were compared.
    """

    def __init__(self, findings: list[Finding], snapshots: Mapping[int, bytes]) -> None:
        self.simulated: list[Event] = []
        self._is_simulation: bool | None = None
        self.snapshots_seen = 0
        self._findings = findings
        self._snapshots = snapshots
        self._state = ClusterState()
        self._known_parked: set[str] = set()
        self._leaders = 0
        self._commands: set[int] = set()
        self._motions: set[int] = set()
        self._resources: set[str] = set()

    def at(self, event: Event) -> None:
        """Looks at the next event."""
        self._keep(event)
        self._check_transition(event)
        self._check_epoch(event)
        self._check_causes(event)
        if event.n in self._snapshots:
            self._check_snapshot(event.n)

    def _keep(self, event: Event) -> None:
        """Keeps the events of a simulation, which begins with one author who puts its inputs on record."""
        if self._is_simulation is None:
            if event.type == "simulation.started":
                self._is_simulation = True
            elif self.simulated and event.by != self.simulated[0].by:
                self._is_simulation = False
                self.simulated.clear()
        if self._is_simulation is not False:
            self.simulated.append(event)

    def _found(self, event: Event, check: str, text: str) -> None:
        self._findings.append(Finding(event.n, check, text))

    def _check_transition(self, event: Event) -> None:
        """An event that the machines do not allow parks its subject."""
        state = self._state
        apply_event(state, event)
        if len(state.parked) > len(self._known_parked):
            for subject in state.parked.keys() - self._known_parked:
                self._known_parked.add(subject)
                self._found(event, "transitions", f"{subject}: {state.parked[subject].reason}")

    def _check_epoch(self, event: Event) -> None:
        """Each election raises the leader's epoch."""
        if event.type == "leader.elected":
            if event.epoch <= self._leaders:
                self._found(event, "epochs", f"a leader was elected with epoch {event.epoch} after {self._leaders}")
            self._leaders = max(self._leaders, event.epoch)

    def _check_causes(self, event: Event) -> None:
        """What an event says to have followed from must have come before it."""
        if event.type == "command.received":
            self._commands.add(event.payload["id"])
        elif event.type == "balance.motion":
            self._motions.add(event.payload["number"])
        elif event.type in {"resource.configured", "resource.added"}:
            self._resources.add(event.subject)
        elif event.type == "cluster.imported":
            self._resources.update(event.payload["resources"])
        for reference in (event.cause, event.correlation):
            if reference is not None and not _is_known(reference, self._commands, self._motions, self._resources):
                self._found(event, "causes", f"refers to {reference}, which is not there before")

    def _check_snapshot(self, n: int) -> None:
        state = decode_state(self._snapshots[n])
        if state is None:
            return
        self.snapshots_seen += 1
        if state.to_data() != self._state.to_data():
            self._findings.append(Finding(n, "snapshots", "the snapshot differs from the fold"))


def _is_known(reference: str, commands: set[int], motions: set[int], resources: set[str]) -> bool:
    kind, _, rest = reference.partition("/")
    if kind == "command":
        return rest.isdigit() and int(rest) in commands
    if kind == "motion":
        return rest.isdigit() and int(rest) in motions
    return kind == "job" and rest.rpartition("/")[0] in resources


async def _check_decisions(events: Sequence[Event], report: Report) -> None:
    """Decides everything again from the recorded inputs; what comes out must be what was recorded."""
    started = next((event for event in events if event.type == "simulation.started"), None)
    if started is None:
        report.checks["decisions"] = "not checked: the inputs of these decisions are not on this stream"
        return
    again = await run_again(recorded_scenario(events))
    # Operators may have added commands after the simulation's end.
    end = next((place + 1 for place, event in enumerate(events) if event.type == "simulation.ended"), len(events))
    for recorded, recomputed in zip(events[:end], again, strict=False):
        if _essence(recorded) != _essence(recomputed):
            text = f"recorded {_short(recorded)}, recomputed {_short(recomputed)}"
            report.findings.append(Finding(recorded.n, "decisions", text))
            break
    else:
        if end != len(again):
            report.findings.append(Finding(end, "decisions", f"{end} events recorded, {len(again)} recomputed"))
    report.checks["decisions"] = f"{min(end, len(again))} events come out again from the recorded inputs"


def _essence(event: Event) -> tuple[object, ...]:
    payload = {key: value for key, value in event.payload.items() if key != "name" or event.type != "cluster.created"}
    return event.type, event.subject, event.by, event.at, payload, event.cause, event.correlation, event.late


def _short(event: Event) -> str:
    return f"{event.type} of {event.subject} at {event.at:g} s {dict(event.payload)}"[:200]
