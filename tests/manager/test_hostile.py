"""What a broken client could write is decided as anything else, or rejected by itself: never does a round end in it."""

import asyncio
import json
from typing import Any

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from events.codec import encode_fields
from events.envelope import Event
from events.errors import UserError
from events.log.memory import MemoryLog
from events.log.side import SideEntry
from events.schema import SCHEMAS
from haes import settings
from haes.live.requests import KIND, pending_requests
from haes.manager.inputs import Claim, Loads, RoundInputs, Undecidable
from haes.manager.round import Leader
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event, fold
from haes.telemetry import SampleWindow

NODES = ("node1", "node2", "node3")
VERBS = (
    *("migrate", "relocate", "stop", "enable-node-maintenance", "disable-node-maintenance", "disarm-ha", "arm-ha"),
    *("rebalance-retry", "rebalance-advise", "configure", "unconfigure", "change-rules", "change-settings"),
    *("add-node", "confirm-fenced", "remove-node"),
)
TEXTS = st.text(st.characters(), max_size=20)
NUMBERS = st.one_of(st.integers(), st.integers(-(2**70), 2**70), st.floats(), st.just(10**400))
KEYS = st.one_of(
    TEXTS,
    st.sampled_from([*settings.CRS_KEYS, "crs", "ha", "node", "state", "memory", "cpus", "max_restart", "command"]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.sampled_from(["started", "node1", "off"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=8,
)
RULES = st.lists(
    st.one_of(
        TEXTS,
        st.sampled_from(
            [
                *(
                    "node-affinity: pin",
                    "resource-affinity: pair",
                    "",
                    "\tresources vm:1,vm:2",
                    "\tnodes node1:9,node2",
                ),
                *("\tnodes node1:" + "9" * 30, "\taffinity negative", "\tstrict 1", "\tdisable", "\tcomment %ff%00"),
            ]
        ),
    ),
    max_size=8,
).map("\n".join)
ARGUMENTS = st.one_of(
    TEXTS,
    NUMBERS.map(str),
    st.sampled_from(["vm:1", "vm:2", "vm:9", "node1", "node3", "freeze", "ignore", "9" * 5000]),
    VALUES.map(json.dumps),
    RULES,
)
ENTRIES = st.one_of(
    st.dictionaries(st.sampled_from(["verb", "arguments", "else"]), st.binary(max_size=20)),
    st.builds(
        lambda verb, words: {"verb": verb.encode(errors="replace"), "arguments": json.dumps(words).encode()},
        st.one_of(st.sampled_from(VERBS), TEXTS),
        st.one_of(st.lists(ARGUMENTS, max_size=3), VALUES),
    ),
)
AMOUNTS = st.one_of(NUMBERS.filter(lambda number: not isinstance(number, int) or abs(number) < 2**63), st.none())
SAMPLES = st.one_of(
    st.binary(max_size=30),
    st.builds(
        lambda amounts, services: msgpack.packb([*amounts, services], unicode_errors="surrogatepass"),
        st.lists(AMOUNTS, min_size=3, max_size=5),
        st.lists(st.tuples(st.sampled_from(["vm:1", "x"]), AMOUNTS, AMOUNTS), max_size=3),
    ),
)


def _known() -> ClusterState:
    batch = Batch(ClusterState(), "test", 0)
    batch.emit("settings.changed", "settings", settings={"crs": {"ha": "dynamic", "ha-auto-rebalance": 1}})
    for node in NODES:
        batch.emit("node.added", node)
    for number in (1, 2, 3):
        node = f"node{number}"
        batch.emit("resource.configured", f"vm:{number}", changes={"node": node, "state": "started"})
    return fold(batch.events)


def _round(
    state: ClusterState, at: float, loads: Loads, requests: list[Any], undecidable: dict[str, str] | None = None
) -> list[Event]:
    """Decides one round and returns its events; all of them can be stored."""
    batch = Batch(state.working_copy(), "node1/crm", at)
    inputs = RoundInputs(
        at=at,
        node="node1",
        online=dict.fromkeys(NODES, True),
        quorate=True,
        claim_agent=lambda _: Claim.REFUSED,
        loads=lambda: loads,
        requests=requests,
        outside=True,
        undecidable=undecidable or {},
    )
    Leader().manage(batch, inputs)
    for event in batch.events:
        encode_fields(event)
    return batch.events


BEGUN = _round(_known(), 10, Loads(), [])


@given(st.lists(ENTRIES, max_size=4), st.lists(SAMPLES, max_size=4))
def test_a_round_ends_whatever_it_is_given(entries: list[dict[str, bytes]], samples: list[bytes]) -> None:
    """Requests and samples of any kind lead to events that can be stored, and each request gets its receipt."""
    state = fold(BEGUN, _known())
    window = SampleWindow()
    for number, data in enumerate(samples, 1):
        window.add(SideEntry(f"{number}-0", {"node": b"node1", "data": data}))

    async def requests() -> list[Any]:
        side = MemoryLog("test").side
        for fields in entries:
            await side.add(f"{KIND}:mallory", fields, keep=100)
        return await pending_requests(side, state)

    found = asyncio.run(requests())
    events = _round(state, 20, window.loads(state), found)
    assert len([event for event in events if event.type == "command.received"]) == len(entries)
    after = fold(events, state)
    assert not after.parked
    _round(after, 30, window.loads(after), [])


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=3) | VALUES)
def test_settings_are_taken_or_refused(raw: Any) -> None:
    """Whatever is given for settings is refused by name, or can be stored as it was understood."""
    try:
        merged = settings.merge({"crs": {"ha": "basic"}}, raw, "here")
    except UserError:
        return
    batch = Batch(ClusterState(), "test", 0)
    encode_fields(batch.emit("settings.changed", "settings", settings=merged))


def _stored(type_: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    schema = SCHEMAS[type_]
    fields = dict.fromkeys(sorted(schema.required), VALUES)
    optional = dict.fromkeys(sorted(schema.optional), VALUES)
    return st.fixed_dictionaries(fields, optional=optional).map(lambda payload: (type_, payload))


# What stands in for entries is never written; what an import or the balancer's memory holds is taken as it is.
_TAKEN = ("test.", "log.unreadable", "log.foreign", "cluster.imported", "balance.")
TYPES = sorted(name for name in SCHEMAS if not name.startswith(_TAKEN))
SUBJECTS = ["vm:1", "vm:2", "node1", "node3", "settings", "cluster", "commands", "rules", "balance", "x"]


@given(st.lists(st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(TYPES).flatmap(_stored)), min_size=1, max_size=3))
def test_no_stored_event_ends_a_round(stored: list[tuple[str, tuple[str, dict[str, Any]]]]) -> None:
    """Events of every type with any payload park what they are about, or one resource at most at a time."""
    state = fold(BEGUN, _known())
    for n, (subject, (type_, payload)) in enumerate(stored, 100):
        event = Event(type_, subject, "x", 15.0, payload, n=n)
        try:
            encode_fields(event)
        except (OverflowError, ValueError):
            # No log holds it.
            continue
        apply_event(state, event)
    undecidable: dict[str, str] = {}
    tries = 0
    while True:
        try:
            _round(state, 20, Loads(), [], undecidable)
        except Undecidable as error:
            undecidable[error.resource] = error.problem
        else:
            return
        assert len(undecidable) <= len(state.resources)
        tries += 1
        assert tries == len(undecidable)
