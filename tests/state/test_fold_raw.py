"""The quick fold comes to the same as the ordinary one, whatever is on the stream."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stream import Life
from events.codec import FIELDS, encode_fields
from events.envelope import Event
from events.errors import LogFault
from events.log.checks import decode_after
from events.log.memory import MemoryLog
from events.log.port import RawEntry
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from haes.state.cluster import ClusterState
from haes.state.fold import fold
from haes.state.fold_raw import RawFold


def _entries(events: list[Event]) -> list[RawEntry]:
    entries: list[RawEntry] = []
    for n, event in enumerate(events, start=1):
        values = [b"%d" % n, *encode_fields(event)]
        entries.append((b"1-%d" % n, [part for pair in zip(FIELDS, values, strict=True) for part in pair]))
    return entries


LIFE = _entries(list(Life(4, 30, seed=7).events(3000)))


def _quick(entries: list[RawEntry], cuts: list[int], *, lenient: bool = False) -> ClusterState:
    state = ClusterState()
    quick = RawFold(state, lenient=lenient)
    places = sorted({0, *cuts, len(entries)})
    for start, end in pairwise(places):
        quick.take(entries[start:end])
    return state


@given(st.lists(st.integers(0, len(LIFE)), max_size=6))
def test_however_it_is_cut_the_state_is_the_same(cuts: list[int]) -> None:
    """A made-up life of a cluster, taken in parts of any size, folds to what the ordinary fold says."""
    assert _quick(LIFE, cuts).to_data() == EXPECTED


EXPECTED = fold(decode_after(0, LIFE)).to_data()


@given(st.lists(st.tuples(st.integers(0, 299), st.integers(0, 400)), min_size=1, max_size=4))
def test_damage_is_met_as_by_the_ordinary_fold(damage: list[tuple[int, int]]) -> None:
    """Entries whose data was damaged park the same subjects, with the same reasons, or are refused alike."""
    entries = [(entry_id, list(flat)) for entry_id, flat in LIFE[:300]]
    for index, place in damage:
        flat = entries[index][1]
        data = bytearray(flat[-1])
        data[place % len(data)] ^= 0x41
        flat[-1] = bytes(data)
    try:
        expected = fold(decode_after(0, entries, lenient=True)).to_data()
    except LogFault:
        with pytest.raises(LogFault):
            _quick(entries, [], lenient=True)
        return
    told = _quick(entries, [100, 200], lenient=True).to_data()
    assert told == expected


async def test_every_scenario_folds_to_the_same(shared: Path) -> None:
    """Streams of whole simulated clusters come to the same state both ways."""
    for folder in sorted((shared / "scenarios" / "upstream").iterdir())[::6]:
        log = MemoryLog("test")
        await simulate(load_scenario(folder, []), log, lambda _event: None)
        state = ClusterState()
        quick = RawFold(state)
        async for chunk in log.raw_chunks():
            quick.take(chunk)
        assert state.to_data() == fold([event async for event in log.read_all()]).to_data(), folder.name


def test_a_gap_is_refused_where_it_is() -> None:
    """A missing event stops the quick fold, with everything before it applied."""
    state = ClusterState()
    with pytest.raises(LogFault, match="events 51 to 51 are gone"):
        RawFold(state).take(LIFE[:50] + LIFE[51:100])
    assert state.n == 50
    assert state.to_data() == fold(decode_after(0, LIFE[:50])).to_data()
