"""Whether a stream is sound: one pass over it with every check, then its decisions once more from recorded inputs.

A simulation's stream holds all inputs, so that everything in it is decided again. Of a live cluster it is the motions
of the balancer, as long as the samples beside the log are kept (`replay/checks/measured.py`). When the beginning was
trimmed away, inputs have expired: that is neither sound nor wrong. Neither is what another version of the program
decided otherwise than this one would; what it claims is checked all the same.
"""

from contextlib import aclosing
from dataclasses import dataclass, field

from events.envelope import Event
from events.errors import LogFault, UserError
from events.history import History
from events.snapshots import snapshots_before
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.state.snapshot import decode_state
from haes.telemetry import STREAM
from haes.version import POLICY_VERSION
from replay.again import recorded_scenario, run_again
from replay.checks.causes import Causes
from replay.checks.check import Check, Finding
from replay.checks.claims import Claims
from replay.checks.epochs import Epochs
from replay.checks.measured import Measured
from replay.checks.memory import Memory
from replay.checks.motions import Motions
from replay.checks.running import Running
from replay.checks.snapshots import Snapshots
from replay.checks.transitions import Transitions
from replay.decisions import first_divergence, name_version

__all__ = ["Finding", "Report", "verify"]


@dataclass(slots=True)
class Report:
    """What verifying a stream showed.

    Attributes:
        events: how many were looked at.
        findings: what is wrong, by number of the event.
        checks: what was checked, and for what could not be checked, why.
        parked: subjects whose events are no longer applied at the end -> why.
    """

    events: int
    findings: list[Finding]
    checks: dict[str, str]
    parked: dict[str, str]


@dataclass(slots=True)
class _Pass:
    """One pass over a stream.

    Attributes:
        state: the fold so far.
        first: number of the first event that was looked at, less one.
        started: the events that carry a simulation's inputs; empty for other streams.
        ended: the stream was read to its end.
    """

    state: ClusterState
    first: int = 0
    started: list[Event] = field(default_factory=list)
    ended: bool = True


async def verify(history: History) -> Report:
    """Checks a whole stream."""
    report = Report(0, [], {}, {})
    found = snapshots_before(history.log, archived=history.folder is not None)
    snapshots = {snapshot.checkpoint.n: decode_state(snapshot.data) async for snapshot in found}
    measured = Measured(await history.log.side.read_all(STREAM))
    checks: list[Check] = [Transitions(), Epochs(), Causes(), Snapshots(snapshots), Running(), Motions()]
    checks += [Memory(), Claims(), measured]
    pass_ = await _begin(history, snapshots, report)
    if pass_ is None:
        return report
    await _walk(history, pass_, checks, report)
    for check in checks:
        wrong = len(check.findings)
        report.checks[check.name] = f"{wrong} findings" if wrong else check.end(pass_.state)
        report.findings += check.findings
    report.parked = {subject: item.reason for subject, item in sorted(pass_.state.parked.items())}
    await _decide_again(history, pass_, report, measured)
    report.findings.sort(key=lambda finding: finding.n)
    return report


async def _begin(history: History, snapshots: dict[int, ClusterState | None], report: Report) -> _Pass | None:
    """Returns where to begin: at the start, or where the beginning was trimmed away, at a snapshot above that."""
    gone = 0 if history.folder is not None else await history.first_in_stream() - 1
    if not gone:
        report.checks["entries"] = "every entry can be read, numbers are contiguous"
        return _Pass(ClusterState())
    for n in sorted(snapshots):
        state = snapshots[n]
        if n >= gone and state is not None:
            report.checks["entries"] = f"events 1 to {gone} were trimmed; checked from the snapshot at {n} on"
            return _Pass(state, n)
    report.findings.append(Finding(gone, "entries", f"events 1 to {gone} are gone, and no snapshot stands in for them"))
    return None


async def _walk(history: History, pass_: _Pass, checks: list[Check], report: Report) -> None:
    last = pass_.first
    for check in checks:
        check.begin(pass_.state)
    try:
        async with aclosing(history.events(pass_.first)) as events:
            async for event in events:
                for check in checks:
                    check.before(event, pass_.state)
                apply_event(pass_.state, event)
                for check in checks:
                    check.after(event, pass_.state)
                if event.type == "simulation.started":
                    pass_.started.append(event)
                report.events += 1
                last = event.n
    except LogFault as fault:
        # What came before a fault counts; what comes after cannot be judged without it.
        pass_.ended = False
        report.findings.append(Finding(last + 1, "entries", str(fault)))
        report.checks["entries"] = f"read up to event {last} only"


async def _decide_again(history: History, pass_: _Pass, report: Report, measured: Measured) -> None:
    """Decides everything again from the recorded inputs; what comes out must be what was recorded."""
    if not pass_.ended:
        report.checks["decisions"] = "not checked: the stream cannot be read to its end"
        return
    if not pass_.started:
        if pass_.first and not measured.looked_at:
            report.checks["decisions"] = f"expired: the inputs lay in events 1 to {pass_.first}, which were trimmed"
        return
    try:
        again = (await run_again(recorded_scenario(pass_.started))).events
    except UserError as error:
        report.checks["decisions"] = f"not checked: {error}"
        return
    async with aclosing(history.events()) as recorded:
        equal, n, difference = await first_divergence(recorded, again)
    report.checks["decisions"] = f"{equal} events come out again from the recorded inputs"
    said = pass_.started[0].payload
    if said.get("policy_version") != POLICY_VERSION:
        version = name_version(said.get("program"), said.get("policy_version"))
        other = "" if difference is None else f", the first that does not: {difference}"
        report.checks["decisions"] = f"decided by another version ({version}): {report.checks['decisions']}{other}"
    elif difference is not None:
        report.findings.append(Finding(n, "decisions", f"first divergence: {difference}"))
