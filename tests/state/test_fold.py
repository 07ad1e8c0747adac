"""The state is the fold of the events: however it is cut, copied, interrupted or cut off."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from events.envelope import Event
from events.errors import EventUnknown
from haes.machines import RESOURCE, IllegalTransition
from haes.simulation.world import World
from haes.state import ClusterState
from haes.state.batch import Batch
from haes.state.fold import HANDLERS, apply_event, fold
from haes.state.snapshot import encode_state
from tests.builders import tell
from tests.scenarios.sample import PAIRS, load, of_kinds

# What every event changes, whatever it is about.
COUNTERS = ("n", "at", "epoch", "versions")
# Long histories with failovers, failing motions, commands and rules.
HISTORIES = ("test-memory-21-007", "test-memory-21-027", "test-commands-11-027", "test-rules-11-161")


@cache
def _history(name: str) -> Sequence[Event]:
    return tuple(asyncio.run(tell(load(name))).events)


def _frozen(state: ClusterState) -> tuple[str, bytes]:
    """Returns a state so that nothing in it can change later, however deep."""
    return repr(state.to_data()), encode_state(state)


def _without(state: ClusterState, *names: str) -> dict[str, Any]:
    return {name: value for name, value in state.to_data().items() if name not in names}


@pytest.mark.parametrize(("name", "log_name"), PAIRS)
async def test_what_was_decided_on_is_what_the_log_leads_to(name: str, log_name: str) -> None:
    """After every append, whoever leads, the state folded from the log is the copy that the decision worked on."""
    compared = 0

    def prepare(world: World) -> None:
        write = world.write

        async def compare(batch: Batch, *lease: str) -> None:
            nonlocal compared
            await write(batch, *lease)
            if batch.events:
                compared += 1
                assert batch.state is not None
                # Number and epoch are stamped by the log.
                assert _without(batch.state, "n", "epoch") == _without(world.state, "n", "epoch")

        world.write = compare  # type: ignore[method-assign]

    story = await tell(load(name, log_name), prepare)
    assert compared > 10
    assert _frozen(fold([event async for event in story.log.read_all()])) == _frozen(story.state)


@pytest.mark.parametrize("name", of_kinds("failover", "memory"))
async def test_a_new_leader_stands_on_the_same_fold(name: str) -> None:
    """At every election the state of the one that leads from then on is the fold of all before."""
    story = await tell(load(name))
    for election in story.of("leader.elected"):
        before = fold(story.events[: election.n])
        assert before.leader == election.payload["node"]
        rest = fold(story.events[election.n :], before)
        assert _frozen(rest) == _frozen(story.state)


@given(name=st.sampled_from(HISTORIES), data=st.data())
@hypothesis_settings(max_examples=60)
def test_folding_in_parts_is_folding_at_once(name: str, data: st.DataObject) -> None:
    """A fold of any beginning, continued with the rest, leads to the fold of the whole; so do working copies."""
    history = _history(name)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(history)), max_size=4)))
    state = ClusterState()
    for begin, end in zip([0, *cuts], [*cuts, len(history)], strict=True):
        if data.draw(st.booleans()):
            state = state.working_copy()
        fold(history[begin:end], state)
    assert _frozen(state) == _frozen(fold(history))


@given(name=st.sampled_from(HISTORIES), data=st.data())
@hypothesis_settings(max_examples=60)
def test_a_working_copy_never_changes_its_original(name: str, data: st.DataObject) -> None:
    """Whatever is decided on a copy, and on copies of it, the original stays as it was, in every depth."""
    history = _history(name)
    cut = data.draw(st.integers(0, len(history)))
    original = fold(history[:cut])
    before = _frozen(original)
    copy = original.working_copy()
    more = data.draw(st.integers(0, 200))
    fold(history[cut : cut + more], copy)
    between = _frozen(copy)
    fold(history[cut + more : cut + 2 * more], copy.working_copy())
    assert _frozen(copy) == between
    assert _frozen(original) == before


@given(name=st.sampled_from(HISTORIES), data=st.data())
@hypothesis_settings(max_examples=40)
def test_late_events_change_nothing(name: str, data: st.DataObject) -> None:
    """What a cut-off node would have logged is counted, and changes no state."""
    history = _history(name)
    cut = data.draw(st.integers(0, len(history)))
    state, other = fold(history[:cut]), fold(history[:cut])
    fold([replace(event, late=True) for event in history[cut : cut + 100]], state)
    assert _without(state, *COUNTERS) == _without(other, *COUNTERS)
    assert state.n == history[min(cut + 100, len(history)) - 1].n


def _two_resources() -> list[Event]:
    return [
        Event(type_, resource, "node1/crm", 10, payload, n=number)
        for number, (type_, resource, payload) in enumerate(
            [
                ("resource.configured", "vm:101", {"changes": {"node": "node1", "state": "started"}}),
                ("resource.configured", "vm:102", {"changes": {"node": "node1", "state": "started"}}),
                ("resource.added", "vm:101", {"node": "node1", "state": "request_start"}),
                ("resource.added", "vm:102", {"node": "node1", "state": "request_start"}),
            ],
            1,
        )
    ]


@pytest.mark.parametrize(
    ("type_", "payload"),
    [
        ("resource.migrate", {"previous": "started", "target": "node2"}),  # no such change
        ("resource.motion_queued", {"verb": "migrate"}),  # fields are missing
        ("resource.configured", {"changes": None}),  # of the wrong kind
        ("resource.configured", {"changes": {"no_such_value": 1}}),  # unknown
        ("job.done", {"exit_code": 0}),  # the order's number is missing
    ],
)
def test_an_event_that_cannot_be_applied_parks_its_subject(type_: str, payload: dict[str, Any]) -> None:
    """Its subject stays as it was, named with number and reason; the others go on."""
    state = fold(_two_resources())
    untouched = _without(state, *COUNTERS, "parked")
    apply_event(state, Event(type_, "vm:101", "node1/crm", 20, payload, n=5))
    assert state.parked["vm:101"].n == 5
    assert state.parked["vm:101"].reason.startswith(f"{type_}: ")
    assert _without(state, *COUNTERS, "parked") == untouched
    for number, resource in enumerate(("vm:101", "vm:102"), 6):
        apply_event(state, Event("resource.started", resource, "node1/crm", 30, {"node": "node1"}, n=number))
    assert state.resources["vm:101"].state == "request_start"
    assert state.resources["vm:102"].state == "started"
    assert list(state.parked) == ["vm:101"]
    assert state.parked["vm:101"].n == 5
    assert state.versions["vm:101"] == 4


def test_nobody_may_record_what_could_not_be_applied() -> None:
    """A decision that breaks the rules of its subject fails where it is made, before anything is appended."""
    batch = Batch(fold(_two_resources()).working_copy(), "node1/crm", 20)
    with pytest.raises(IllegalTransition, match=r"vm:101: resource\.migrate: resource cannot go"):
        batch.emit("resource.migrate", "vm:101", previous="request_start", target="node2")


def test_an_unknown_type_stops_the_fold() -> None:
    """A newer program's event is not skipped in silence; nothing of it is counted."""
    state = fold(_two_resources())
    before = _frozen(state)
    with pytest.raises(EventUnknown, match=r"resource\.teleported"):
        apply_event(state, Event("resource.teleported", "vm:101", "node1/crm", 20, {}, n=5))
    assert _frozen(state) == before


def test_every_state_of_a_resource_can_be_recorded() -> None:
    """No state that the machine knows lacks the code that applies it."""
    assert {f"resource.{state}" for state in RESOURCE.states} <= HANDLERS.keys()


def test_an_order_that_was_replaced_takes_no_report() -> None:
    """A report about an earlier order of a resource says nothing about the present one."""
    state = fold(_two_resources())
    fold([Event("resource.started", "vm:101", "node1/crm", 20, {"node": "node1"}, n=5)], state)
    number = state.resources["vm:101"].job
    for job, expected in ((number - 1, None), (number + 1, None), (number, 7)):
        payload = {"job": job, "state": "started", "exit_code": 7}
        apply_event(state, Event("job.done", "vm:101", "node1/lrm", 21, payload, n=state.n + 1))
        assert state.resources["vm:101"].result == expected


def test_a_resource_that_comes_back_gets_new_numbers() -> None:
    """A report on the job of a removed resource does not fit the resource that was added again under its name."""
    state = fold(_two_resources())
    fold([Event("resource.started", "vm:101", "node1/crm", 20, {"node": "node1"}, n=5)], state)
    before = state.resources["vm:101"].job
    fold(
        [
            Event("resource.removed", "vm:101", "node1/crm", 30, {"reason": "no_config"}, n=6),
            Event("resource.added", "vm:101", "node1/crm", 40, {"node": "node1", "state": "request_start"}, n=7),
        ],
        state,
    )
    assert state.resources["vm:101"].job > before


def test_nothing_is_parked_in_the_histories() -> None:
    """Real runs consist of events that can all be applied."""
    for name in HISTORIES:
        assert not fold(_history(name)).parked
