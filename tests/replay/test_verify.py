"""Verification: sound streams pass, and every kind of fault that is put into one is named at its event."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from events.envelope import Event
from events.history import History
from events.log.memory import MemoryLog
from events.log.port import Token
from events.snapshots import Snapshot, save_snapshot, snapshots_before
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from haes.state.restore import restore_state, save_state
from haes.state.snapshot import decode_state, encode_state
from replay.verify import Report, verify
from tests.builders import cluster, motions, tell

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "data"
SERIES = ["ha-auto-rebalance-backoff=series"]
# Numbers of events in the story of fa109.
CHOICE, FAILURE, ARRIVAL = 61, 72, 97
Change = Callable[[Event], Iterable[Event]]


async def _live(name: str, overrides: list[str] | None = None) -> tuple[MemoryLog, list[Event]]:
    log, events = MemoryLog("main"), list[Event]()
    await simulate(load_scenario(SCENARIOS / name, overrides), log, events.append)
    return log, events


async def _rewritten(events: Iterable[Event], change: Change = lambda event: [event]) -> MemoryLog:
    """Returns a log with the same events, epochs included, after a change to some of them."""
    log, tokens = MemoryLog("main"), dict[int, Token]()
    for event in (new for old in events for new in change(old)):
        while event.epoch not in tokens:
            token = await log.acquire("any", "test", seize=True)
            tokens[token.epoch] = await log.acquire(f"epoch {token.epoch}", "test")
            for _ in range(token.epoch - 1):
                tokens[token.epoch] = await log.acquire(f"epoch {token.epoch}", "test", seize=True)
        await log.append([event], token=tokens[event.epoch])
    return log


def _at(n: int, **payload: Any) -> Change:
    """Changes the payload of one event."""
    return lambda event: [replace(event, payload={**event.payload, **payload}) if event.n == n else event]


def _after(n: int, *events: Event) -> Change:
    """Puts events after one."""
    return lambda event: [event, *events] if event.n == n else [event]


async def _found(change: Change, name: str = "fa109") -> list[tuple[int, str, str]]:
    """Returns number, check and text of what is found in the story of fa109 after a change."""
    _, events = await _live(name, SERIES)
    report = await verify(History(await _rewritten(events, change)))
    return [(finding.n, finding.check, finding.text) for finding in report.findings]


def _named(found: list[tuple[int, str, str]], check: str) -> tuple[int, str]:
    """Returns number and text of the only finding of a check."""
    [(n, text)] = [(n, text) for n, name, text in found if name == check]
    return n, text


@pytest.mark.parametrize("name", sorted(folder.name for folder in SCENARIOS.iterdir()))
async def test_what_scenarios_leave_behind_is_sound(name: str) -> None:
    """Every stream of the sample passes every check, and every decision in it comes out again."""
    log, events = await _live(name)
    await save_state(log, await restore_state(log, len(events) // 2))
    report = await verify(History(log))
    assert report.findings == []
    assert report.parked == {}
    assert report.events == len(events)
    assert report.checks["decisions"] == f"{len(events)} events come out again from the recorded inputs"
    assert report.checks["snapshots"] == "1 snapshots compared with the fold"


@pytest.mark.parametrize("backoff", ["none", "time", "series"])
async def test_every_policy_leaves_a_sound_stream(backoff: str) -> None:
    """Attempts, back-offs and rests are counted again under each policy."""
    log, _ = await _live("fa109", [f"ha-auto-rebalance-backoff={backoff}"])
    assert (await verify(History(log))).findings == []


async def test_rewriting_changes_nothing_by_itself() -> None:
    """What the tests below find comes from their change alone."""
    assert await _found(lambda event: [event]) == []


async def test_a_gap_in_the_numbers_is_named() -> None:
    """Numbers are contiguous; what follows a gap is not judged."""
    log, _ = await _live("fa109", SERIES)
    del log._entries[39]
    report = await verify(History(log))
    assert [(finding.n, finding.check) for finding in report.findings] == [(40, "entries")]
    assert "are gone" in report.findings[0].text
    assert report.checks["entries"] == "read up to event 39 only"
    assert report.checks["decisions"].startswith("not checked")


async def test_an_illegal_transition_is_named_and_its_subject_parked() -> None:
    """What the machines do not allow is found where it is, and what follows of it is reported as parked."""
    found = await _found(
        _after(100, Event("resource.recovery", "vm:103", "node1/crm", 263, {"previous": "started"}, epoch=1))
    )
    n, text = _named(found, "transitions")
    assert n == 101
    assert text == "vm:103: resource.recovery: resource cannot go from 'started' to 'recovery'"
    _, events = await _live("fa109", SERIES)
    forged = Event("resource.recovery", "vm:103", "node1/crm", 700, {"previous": "started"}, epoch=1)
    report = await verify(History(await _rewritten([*events, forged])))
    assert report.parked == {"vm:103": text.partition(": ")[2]}
    assert report.checks["transitions"] == "1 findings"


@pytest.mark.parametrize("subject", ["vm:102", "node2"])
async def test_a_state_that_it_did_not_leave_is_named(subject: str) -> None:
    """A change of state that claims to come from another state than the folded one is found."""
    types = {"vm:102": "resource.migrate", "node2": "node.online"}
    _, events = await _live("fa109", SERIES)
    changed = next(event.n for event in events if event.subject == subject and event.type == types[subject])
    assert (
        f"{subject}: says that it was 'gone', but it was"
        in _named(await _found(_at(changed, previous="gone")), "transitions")[1]
    )


async def test_a_leader_without_a_higher_epoch_is_named() -> None:
    """An election that does not raise the epoch means that two may lead."""
    elected = Event("leader.elected", "cluster", "node2/crm", 263, {"node": "node2"}, epoch=1)
    assert _named(await _found(_after(100, elected)), "epochs") == (101, "a leader was elected with epoch 1 after 1")


async def test_a_deposed_writer_is_named() -> None:
    """A decision with the epoch of an earlier leader, and a report with that of an earlier agent, are found."""
    elected = Event("leader.elected", "cluster", "node2/crm", 263, {"node": "node2"}, epoch=5)
    decided = Event("balance.refused", "balance", "node1/crm", 263, {"reason": "paused", "details": {}}, epoch=1)
    found = await _found(_after(118, elected, decided))
    assert _named(found, "epochs") == (120, "node1/crm decided with epoch 1 while node2 led with 5")
    new, old = (Event("job.starting", "vm:103", "node1/lrm", 263, epoch=epoch) for epoch in (4, 3))
    assert _named(await _found(_after(118, new, old)), "epochs") == (120, "node1/lrm reported with epoch 3 after 4")


@pytest.mark.parametrize("cause", ["command/9", "motion/77", "job/vm:103/99", "job/vm:999/1", "moon/1", "motion/x"])
async def test_a_cause_from_nowhere_is_named(cause: str) -> None:
    """A command, a motion or a job that was never there before is no cause."""
    found = await _found(_after(118, Event("job.starting", "vm:103", "node1/lrm", 700, cause=cause, epoch=1)))
    assert _named(found, "causes") == (119, f"refers to {cause}, which is not there before")


@pytest.mark.parametrize(("subject", "lost"), [("vm:103", True), ("vm:102", False)])
async def test_a_job_whose_order_was_lost_is_no_cause_from_nowhere(subject: str, lost: bool) -> None:
    """What an agent reports of a job outlives its order when the log loses its end; of other resources it is wrong."""
    report = Event("job.starting", "vm:103", "node1/lrm", 700, cause="job/vm:103/99", epoch=1)
    loss = {"known_n": 119, "found_n": 118, "generation": 2, "lost": [[119, "resource.started", subject]]}
    told = Event("log.regressed", "log", "node1/crm", 701, loss, about="1 events lost", epoch=1)
    again = Event("job.starting", "vm:103", "node1/lrm", 702, cause="job/vm:103/99", epoch=1)
    found = await _found(_after(118, report, told, again))
    assert [n for n, check, _ in found if check == "causes"] == ([] if lost else [119, 121])


async def test_a_snapshot_that_is_no_fold_is_named() -> None:
    """A snapshot is compared with the fold, and the parts that differ are named; one that is unreadable is counted."""
    log, _ = await _live("fa109", SERIES)
    for n in (50, 90):
        await save_state(log, await restore_state(log, n))
    good = [snapshot async for snapshot in snapshots_before(log)]
    state = decode_state(good[0].data)
    assert state is not None
    state.resources["vm:103"].node = "node3"
    await save_snapshot(log, Snapshot(good[1].checkpoint, b"\x90"))
    said = (await verify(History(log))).checks["snapshots"]
    assert said == "1 snapshots compared with the fold; 1 are of another version of this program and were left out"
    await save_snapshot(log, Snapshot(good[0].checkpoint, encode_state(state)))
    report = await verify(History(log))
    assert [(finding.n, finding.check, finding.text) for finding in report.findings] == [
        (90, "snapshots", "the snapshot differs from the fold in resources")
    ]


async def test_running_on_two_nodes_is_named() -> None:
    """A resource that another agent reports to run, while the first did not report its end, is found."""
    found = await _found(_after(118, Event("job.running", "vm:103", "node2/lrm", 700, epoch=1)))
    n, text = _named(found, "running")
    assert n == 119
    assert text.startswith("vm:103 runs on node2 while it runs on node")


@pytest.mark.parametrize(
    "end",
    [
        Event("job.stopped", "vm:103", "node3/lrm", 690, epoch=1),
        Event("job.moved", "vm:103", "node3/lrm", 690, {"verb": "migrate", "target": "node2"}, epoch=1),
        Event("node.fenced", "node3", "node1/crm", 690, epoch=1),
        Event("node.killed", "node3", "node3/lrm", 690, epoch=1),
        Event("simulation.command", "simulation", "test", 690, {"command": "power node3 off"}, epoch=1),
        Event("resource.moved_while_disarmed", "vm:103", "test", 690, {"previous": "node3", "node": "node2"}, epoch=1),
    ],
)
async def test_what_ended_does_not_run_twice(end: Event) -> None:
    """A stop, a move, a proof that the node is off and a move by hand end a period, so that another may begin."""
    started = Event("job.running", "vm:103", "node2/lrm", 700, epoch=1)
    _, events = await _live("fa109", SERIES)
    assert max((event for event in events if event.type == "job.running"), key=lambda event: event.n).by == "node3/lrm"
    assert [item for item in await _found(_after(118, end, started)) if item[1] == "running"] == []


async def test_a_motion_without_an_end_is_named() -> None:
    """A motion that begins while a member of the one before has no end, and an end of no motion, are found."""
    _, events = await _live("fa109", SERIES)
    lost = await _found(lambda event: [] if event.n == FAILURE else [event])
    assert _named(lost, "motions")[1] == "motion 2 begins while motion 1 has no end for fa:109"
    twice = await _found(_after(ARRIVAL, events[ARRIVAL - 1]))
    assert _named(twice, "motions") == (ARRIVAL + 1, "the end of a motion of vm:102, which has none under way")


async def test_a_motion_under_way_at_the_end_is_no_fault() -> None:
    """A stream that ends in the middle of a motion is sound; what is still open is said."""
    story = await tell(
        cluster({f"vm:{number}": {"node": 1} for number in range(1, 5)}, nodes=2),
        motions(slow={"vm:1": 9999}),
    )
    [issued] = story.of("balance.motion")
    assert issued.payload["members"] == ["vm:1"]
    report = await verify(
        History(await _rewritten(event for event in story.events if not event.type.startswith("simulation.")))
    )
    assert report.findings == []
    assert report.checks["motions"] == (
        "0 of 1 motions of the balancer ended for every member; still under way at the end: motion 1 (vm:1)"
    )


@pytest.mark.parametrize(
    ("n", "payload", "text"),
    [
        (CHOICE, {"number": 4}, "balance.motion: number is recorded as 4, counted again 1"),
        (CHOICE, {"series": 2}, "balance.motion: series is recorded as 2, counted again 1"),
        (FAILURE, {"attempts": 2}, "balance.failed: attempts is recorded as 2, counted again 1"),
        (FAILURE, {"first_series": 9}, "balance.failed: first_series is recorded as 9, counted again 3"),
        (ARRIVAL, {"cooldown_until": 900}, "balance.moved: cooldown_until is recorded as 900, counted again 860"),
    ],
)
async def test_a_wrong_count_of_the_balancer_is_named(n: int, payload: dict[str, Any], text: str) -> None:
    """What the balancer counts is counted again, on any stream."""
    assert (n, "memory", text) in await _found(_at(n, **payload))


async def test_the_first_divergence_of_a_decision_is_named() -> None:
    """A choice that does not follow from the recorded inputs is shown beside what follows from them."""
    n, text = _named(await _found(_at(CHOICE, target="node3")), "decisions")
    assert n == CHOICE
    assert text.startswith(
        "first divergence: balance.motion of balance at 80 s, recorded / recomputed: target node3 / node2"
    )
    n, text = _named(await _found(lambda event: [] if event.n == CHOICE else [event]), "decisions")
    assert n == CHOICE
    assert "recorded resource.motion_queued of fa:109 at 80 s" in text
    assert "recomputed balance.motion of balance at 80 s" in text
    n, text = _named(await _found(lambda event: [] if event.n > CHOICE else [event]), "decisions")
    assert n == CHOICE
    assert "recorded nothing more, recomputed resource.motion_queued" in text


async def _without_simulation() -> Report:
    _, events = await _live("fa109", SERIES)
    return await verify(
        History(await _rewritten(event for event in events if not event.type.startswith("simulation.")))
    )


async def test_a_stream_of_a_real_cluster_has_no_inputs_on_it() -> None:
    """Where no simulation wrote the inputs down, decisions are said to be not recorded; all else is checked."""
    report = await _without_simulation()
    assert report.findings == []
    assert report.checks["decisions"].startswith("not recorded: ")
    assert report.checks["memory"] == "numbers, attempts, back-offs and rests of the balancer come out again"
    assert report.checks["motions"] == "4 of 4 motions of the balancer ended for every member"


async def test_expired_inputs_are_no_divergence() -> None:
    """When the beginning was archived and trimmed, the rest is checked from a snapshot on, and inputs are expired."""
    log, events = await _live("fa109", SERIES)
    await save_state(log, await restore_state(log, 70))
    await log.trim(65)
    report = await verify(History(log))
    assert report.findings == []
    assert report.events == len(events) - 70
    assert report.checks["entries"] == "events 1 to 65 were trimmed; checked from the snapshot at 70 on"
    assert report.checks["decisions"].startswith("expired: ")
    assert report.checks["motions"] == "4 of 4 motions of the balancer ended for every member"


async def test_a_beginning_that_is_gone_is_named() -> None:
    """Without a snapshot that stands in for what was trimmed, nothing can be checked, and that is no success."""
    log, _ = await _live("fa109", SERIES)
    await log.trim(65)
    report = await verify(History(log))
    assert [(finding.n, finding.check) for finding in report.findings] == [(65, "entries")]
