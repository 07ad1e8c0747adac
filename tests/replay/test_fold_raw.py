"""The fold of undecoded entries is the ordinary fold: the same state, the same faults, whatever the entries hold."""

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgpack
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from events.codec import AT, DATA, EPOCH, SUBJECT, TYPE, N, decode_entry
from events.errors import HaesError
from events.history import History
from events.log.checks import decode_after
from events.log.memory import MemoryLog
from events.log.port import RawEntry
from events.url import connect
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from haes.state import ClusterState
from haes.state.fold import HANDLERS, apply_event
from haes.state.fold_raw import RawFold, reads_payload
from haes.state.restore import replay_state
from haes.state.snapshot import encode_state
from tests.builders import tell
from tests.scenarios.sample import FOLDERS, SETTINGS, load

# Long histories with failovers, failing motions, commands and rules.
HISTORIES = ("test-memory-21-007", "test-memory-21-027", "test-commands-11-027", "test-rules-11-161")
# The whole corpus runs in so many parts, so that workers can share it.
PARTS = 4


async def _entries(log: MemoryLog) -> list[RawEntry]:
    return [entry async for chunk in log.raw_chunks() for entry in chunk]


@cache
def _history(name: str) -> Sequence[RawEntry]:
    async def live() -> list[RawEntry]:
        log = MemoryLog("main")
        await tell(load(name), log=log)
        return await _entries(log)

    return tuple(asyncio.run(live()))


def _frozen(state: ClusterState) -> tuple[str, bytes]:
    """Returns a state so that two are equal only when everything in them is, order and kinds of numbers included."""
    return repr(state.to_data()), encode_state(state)


def _ordinary(entries: Sequence[RawEntry]) -> tuple[ClusterState, str]:
    """Folds one event after the other; returns the state and the fault that ended it."""
    state = ClusterState()
    try:
        for entry in entries:
            [event] = decode_after(state.n, [entry])
            apply_event(state, event)
    except HaesError as fault:
        return state, f"{type(fault).__name__}: {fault}"
    return state, ""


def _raw(entries: Sequence[RawEntry], cuts: Sequence[int]) -> tuple[ClusterState, str]:
    """Does the same with the fold of undecoded entries, cut into chunks."""
    fold = RawFold(ClusterState())
    try:
        for begin, end in zip([0, *cuts], [*cuts, len(entries)], strict=True):
            fold.take(entries[begin:end])
    except HaesError as fault:
        return fold.state, f"{type(fault).__name__}: {fault}"
    return fold.state, ""


@given(name=st.sampled_from(HISTORIES), data=st.data())
@hypothesis_settings(max_examples=40)
def test_any_beginning_in_any_chunks_folds_to_the_same(name: str, data: st.DataObject) -> None:
    """However a history is cut off and into chunks, both folds lead to the same state, byte for byte."""
    entries = _history(name)[: data.draw(st.integers(0, len(_history(name))))]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(entries)), max_size=6)))
    state, fault = _raw(entries, cuts)
    expected, _ = _ordinary(entries)
    assert not fault
    assert _frozen(state) == _frozen(expected)


def _replaced(entry: RawEntry, place: int, value: bytes) -> RawEntry:
    entry_id, flat = entry
    return entry_id, [*flat[:place], value, *flat[place + 1 :]]


def _repacked(entry: RawEntry, place: int, value: object) -> RawEntry:
    data = msgpack.unpackb(entry[1][DATA])
    data[place] = value
    return _replaced(entry, DATA, msgpack.packb(data))


# What may be strange about an entry, each told by what makes it so.
STRANGE = {
    "late": lambda entry: _repacked(entry, 1, True),
    "newer version": lambda entry: _repacked(entry, 0, 99),
    "version that is no number": lambda entry: _repacked(entry, 0, "1"),
    "more elements": lambda entry: _replaced(
        entry, DATA, msgpack.packb([*msgpack.unpackb(entry[1][DATA]), "from a newer program"])
    ),
    "fewer elements": lambda entry: _replaced(entry, DATA, msgpack.packb([1, False])),
    "data that is no msgpack": lambda entry: _replaced(entry, DATA, b"\xc1"),
    "no data": lambda entry: _replaced(entry, DATA, b""),
    "unknown type": lambda entry: _replaced(entry, TYPE, b"resource.vanished"),
    "type that is no text": lambda entry: _replaced(entry, TYPE, b"\xff"),
    "subject that is no text": lambda entry: _replaced(entry, SUBJECT, b"\xff"),
    "another type": lambda entry: _replaced(entry, TYPE, b"resource.migrate"),
    "another subject": lambda entry: _replaced(entry, SUBJECT, b"vm:999"),
    "earlier time": lambda entry: _replaced(entry, AT, b"0.5"),
    "no time": lambda entry: _replaced(entry, AT, b"soon"),
    "higher epoch": lambda entry: _replaced(entry, EPOCH, b"77"),
    "no epoch": lambda entry: _replaced(entry, EPOCH, b"x"),
    "another number": lambda entry: _replaced(entry, N, b"7"),
    "no number": lambda entry: _replaced(entry, N, b"seven"),
    "two numbers": lambda entry: _replaced(entry, N, b"7,8"),
    "exchanged fields": lambda entry: (entry[0], [*entry[1][2:4], *entry[1][:2], *entry[1][4:]]),
    "more fields": lambda entry: (entry[0], [*entry[1], b"more", b"1"]),
    "foreign fields": lambda entry: (entry[0], [b"temperature", b"20"]),
}


@given(name=st.sampled_from(HISTORIES), data=st.data())
@hypothesis_settings(max_examples=150)
def test_strange_entries_fold_or_fail_alike(name: str, data: st.DataObject) -> None:
    """Both folds apply a strange entry alike, park alike, or end at it with the same words and the same state."""
    entries = list(_history(name)[:400])
    for kind in data.draw(st.lists(st.sampled_from(sorted(STRANGE)), min_size=1, max_size=3)):
        place = data.draw(st.integers(0, len(entries) - 1))
        entries[place] = STRANGE[kind](_history(name)[place])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(entries)), max_size=3)))
    state, fault = _raw(entries, cuts)
    expected, expected_fault = _ordinary(entries)
    assert fault == expected_fault
    assert _frozen(state) == _frozen(expected)


@pytest.mark.parametrize("place", [0, 20, 49])
def test_foreign_names_of_fields_are_found(place: int) -> None:
    """An entry with HAES's values under other names is found at the ends of a chunk, and everywhere by decoding all."""
    entries = list(_history(HISTORIES[0])[:50])
    entries[place] = _replaced(entries[place], TYPE - 1, b"kind")
    expected, expected_fault = _ordinary(entries)
    assert "was not written by HAES" in expected_fault
    state, fault = _raw(entries, [place, place + 1])
    assert fault == expected_fault
    assert _frozen(state) == _frozen(expected)
    assert bool(_raw(entries, [])[1]) == (place in {0, 49})


@pytest.mark.parametrize("name", HISTORIES)
def test_what_follows_an_event_that_parks_its_subject_is_left_out(name: str) -> None:
    """After an event that cannot be applied both folds leave later events of its subject out, and name the event."""
    entries = list(_history(name))
    place = next(place for place, (_, flat) in enumerate(entries) if flat[TYPE] == b"resource.confirmed")
    entries[place] = _replaced(entries[place], TYPE, b"resource.recovery")
    state, fault = _raw(entries, [])
    expected, _ = _ordinary(entries)
    assert not fault
    assert [parked.n for parked in state.parked.values()] == [place + 1]
    assert _frozen(state) == _frozen(expected)


@given(name=st.sampled_from(HISTORIES), data=st.data())
@hypothesis_settings(max_examples=40)
def test_a_missing_entry_is_found_by_its_number(name: str, data: st.DataObject) -> None:
    """Where an entry is missing or appears twice, both folds stop before it and say the same."""
    entries = list(_history(name)[:400])
    place = data.draw(st.integers(0, len(entries) - 2))
    entries[place : place + 1] = [] if data.draw(st.booleans()) else [entries[place]] * 2
    state, fault = _raw(entries, [])
    expected, expected_fault = _ordinary(entries)
    assert fault == expected_fault
    assert fault
    assert _frozen(state) == _frozen(expected)


class _Untouchable:
    """A payload at which nobody may look."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(f"the payload was looked at ({name})")


@pytest.mark.parametrize("name", HISTORIES)
def test_handlers_that_say_so_do_not_read_the_payload(name: str) -> None:
    """A handler whose parameter says that the payload is unused works without any payload."""
    state, spared = ClusterState(), 0
    for entry_id, flat in _history(name):
        event = decode_entry(entry_id, flat)
        handler = HANDLERS.get(event.type)
        if handler is not None and not reads_payload(handler):
            spared += 1
            event.payload = _Untouchable()  # type: ignore[assignment]
        apply_event(state, event)
    assert spared >= 10
    assert _frozen(state) == _frozen(_ordinary(_history(name))[0])


def test_handlers_that_read_the_payload_are_known() -> None:
    """The types whose payload is never decoded are these; another one here means a handler that was renamed."""
    unread = {type_ for type_, handler in HANDLERS.items() if not reads_payload(handler)}
    assert {"resource.confirmed", "resource.removed", "node.added", "node.online", "disarm.completed"} <= unread
    assert unread.isdisjoint({"resource.started", "resource.stopped", "job.done", "balance.motion", "agent.reported"})


async def test_a_stream_on_a_server_replays_to_what_was_lived(tmp_path: Path) -> None:
    """Over its own connection to a real server, several requests long, the state is that at the end of the run."""
    async with connect(f"embedded:{tmp_path}", "main") as log:
        state = await simulate(load("test-memory-21-007"), log, lambda _event: None)
        replayed = await replay_state(History(log))
    assert _frozen(replayed) == _frozen(state)


@pytest.mark.parametrize("part", range(PARTS))
def test_the_whole_corpus_folds_alike(shared: Path, part: int) -> None:
    """For the scenarios beside the repository, large ones included, both folds lead to the state of the run."""
    folders = sorted(path.parent for path in (shared / "scenarios").glob("[gsul]*/*/log.series"))
    assert len(folders) > 100
    for folder in folders[part::PARTS]:
        log = MemoryLog("main")
        lived = asyncio.run(simulate(load_scenario(folder, SETTINGS["log.series"]), log, lambda _event: None))
        state, fault = _raw(asyncio.run(_entries(log)), [])
        assert not fault
        assert _frozen(state) == _frozen(lived), folder.name


@pytest.mark.parametrize("name", [folder.name for folder in FOLDERS])
def test_the_sample_folds_alike(name: str) -> None:
    """For every scenario that comes with the repository, both folds lead to the state of the run."""
    log = MemoryLog("main")
    lived = asyncio.run(simulate(load(name), log, lambda _event: None))
    state, fault = _raw(asyncio.run(_entries(log)), [])
    assert not fault
    assert _frozen(state) == _frozen(lived)
