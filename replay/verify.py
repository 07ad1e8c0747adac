"""Whether a stream is sound: numbers, transitions, epochs, causes, snapshots, and decisions that come out again."""

from collections.abc import Sequence
from dataclasses import dataclass

from events.envelope import Event
from events.errors import LogFault
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


async def verify(log: EventLog) -> Report:
    """Checks a whole stream."""
    report = Report(0, [], {})
    events: list[Event] = []
    try:
        async for event in log.read_all():
            # One by one, because what came before a fault counts.
            events.append(event)  # noqa: PERF401
    except LogFault as fault:
        report.findings.append(Finding(len(events) + 1, "entries", str(fault)))
    report.events = len(events)
    report.checks["entries"] = "every entry can be read, numbers are contiguous"
    states = _check_transitions(events, report)
    _check_epochs(events, report)
    _check_causes(events, report)
    await _check_snapshots(log, states, report)
    await _check_decisions(events, report)
    return report


def _check_transitions(events: Sequence[Event], report: Report) -> ClusterState:
    """Folds the stream; an event that the machines do not allow parks its subject."""
    state = ClusterState()
    known: set[str] = set()
    for event in events:
        apply_event(state, event)
        for subject in state.parked.keys() - known:
            known.add(subject)
            report.findings.append(Finding(event.n, "transitions", f"{subject}: {state.parked[subject].reason}"))
    report.checks["transitions"] = "every change of state is legal"
    return state


def _check_epochs(events: Sequence[Event], report: Report) -> None:
    """Each election raises the leader's epoch."""
    leaders = 0
    for event in events:
        if event.type == "leader.elected":
            if event.epoch <= leaders:
                report.findings.append(
                    Finding(event.n, "epochs", f"a leader was elected with epoch {event.epoch} after {leaders}")
                )
            leaders = max(leaders, event.epoch)
    report.checks["epochs"] = "every leader's epoch is higher than the one before"


def _check_causes(events: Sequence[Event], report: Report) -> None:
    """What an event says to have followed from must have come before it."""
    commands: set[int] = set()
    motions: set[int] = set()
    resources: set[str] = set()
    for event in events:
        if event.type == "command.received":
            commands.add(event.payload["id"])
        elif event.type == "balance.motion":
            motions.add(event.payload["number"])
        elif event.type in {"resource.configured", "resource.added"}:
            resources.add(event.subject)
        elif event.type == "cluster.imported":
            resources.update(event.payload["resources"])
        for reference in (event.cause, event.correlation):
            if reference is not None and not _is_known(reference, commands, motions, resources):
                report.findings.append(Finding(event.n, "causes", f"refers to {reference}, which is not there before"))
    report.checks["causes"] = "every cause that is named came before"


def _is_known(reference: str, commands: set[int], motions: set[int], resources: set[str]) -> bool:
    kind, _, rest = reference.partition("/")
    if kind == "command":
        return rest.isdigit() and int(rest) in commands
    if kind == "motion":
        return rest.isdigit() and int(rest) in motions
    return kind == "job" and rest.rpartition("/")[0] in resources


async def _check_snapshots(log: EventLog, end: ClusterState, report: Report) -> None:
    checked = 0
    async for snapshot in snapshots_before(log, end.n):
        state = decode_state(snapshot.data)
        if state is None:
            continue
        checked += 1
        folded = ClusterState()
        async for event in log.read_all():
            if event.n > snapshot.checkpoint.n:
                break
            apply_event(folded, event)
        if folded.to_data() != state.to_data():
            report.findings.append(Finding(snapshot.checkpoint.n, "snapshots", "the snapshot differs from the fold"))
    report.checks["snapshots"] = f"{checked} snapshots equal the fold"


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
