"""The encoding of events: what goes in comes out, and what was ever written can still be read."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.codec import FIELDS, decode_entry, decode_time, encode_fields, encode_time
from events.envelope import Event
from events.errors import EntryCorrupt, EventUnknown
from tests.events.kinds import happened

GOLDEN = Path(__file__).parent.parent / "golden" / "codec"
# The range of integers that msgpack holds.
SMALLEST, LARGEST = -(2**63), 2**64 - 1

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
times = st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**53)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(SMALLEST, LARGEST)
    | st.floats(allow_nan=False)
    | texts
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
events = st.builds(
    Event,
    type=st.just("test.happened"),
    subject=texts,
    by=texts,
    at=times,
    payload=st.dictionaries(texts, values, max_size=4),
    epoch=st.integers(0, 2**53),
    about=texts,
    cause=st.none() | texts,
    correlation=st.none() | texts,
    late=st.booleans(),
    n=st.integers(1, 2**53),
    id=st.from_regex(r"[0-9]{1,14}-[0-9]{1,14}", fullmatch=True),
)


def _flat(event: Event) -> list[bytes]:
    """Returns the entry that a log keeps for an event."""
    fields = zip(FIELDS, [b"%d" % event.n, *encode_fields(event)], strict=True)
    return [part for pair in fields for part in pair]


@given(events)
def test_every_event_survives(event: Event) -> None:
    """Decoding what was encoded returns an equal event, whatever its texts, times and payload."""
    assert decode_entry(event.id.encode(), _flat(event)) == event


@given(times)
def test_every_time_survives(at: float) -> None:
    """A time comes back equal, and as int exactly when it has no fraction."""
    back = decode_time(encode_time(at).encode())
    assert back == at
    assert isinstance(back, int) == (at == int(at))


@given(st.binary(max_size=60))
def test_damaged_data_is_a_named_fault(data: bytes) -> None:
    """Whatever bytes stand in `data`, decoding returns an event or raises a fault, never anything else."""
    flat = [*_flat(happened())[:-1], data]
    try:
        decode_entry(b"1-1", flat)
    except (EntryCorrupt, EventUnknown):
        return


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_what_was_written_once_is_read_for_ever(path: Path) -> None:
    """The bytes of every version ever written decode to the event that they meant."""
    golden = json.loads(path.read_text())
    entry = [base64.b64decode(part) for part in golden["entry"]]
    event = decode_entry(golden["id"].encode(), entry)
    assert {name: getattr(event, name) for name in golden["event"]} == golden["event"]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.current.json")), ids=lambda path: path.stem)
def test_what_is_written_now_is_what_was_written(path: Path) -> None:
    """Encoding has not changed: the event becomes the recorded bytes again."""
    golden = json.loads(path.read_text())
    assert _flat(Event(**golden["event"])) == [base64.b64decode(part) for part in golden["entry"]]


def test_there_are_golden_entries() -> None:
    """The folder of golden entries was found."""
    assert len(list(GOLDEN.glob("*.json"))) >= 4
