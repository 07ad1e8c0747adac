"""A command has a life: it waits for so long and no longer, it can be taken back, and what is sent twice is done once."""

import json
from pathlib import Path

import pytest

from events.embedded import EmbeddedRedis
from events.log.memory import MemoryLog
from events.url import connect
from haes.live.outcome import End, Outcome
from haes.live.requests import KIND, pending_requests, send_request
from haes.manager.context import Round
from haes.manager.inputs import Claim, Loads, Request, RoundInputs
from haes.manager.requests import take_over_requests
from haes.manager.rules_in_use import RulesInUse
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.fold_cluster import KEYS_KEPT
from haes.state.snapshot import decode_state, encode_state
from tests.cli.running import haes, refused
from tests.live.world import World


def _take_over(state: ClusterState, at: float, *requests: Request) -> list[tuple[str, str]]:
    """Lets a leader take requests over and returns its answers: kind and reason."""
    batch = Batch(state, "node1/crm", at)
    inputs = RoundInputs(
        at=at,
        node="node1",
        online={},
        quorate=True,
        claim_agent=lambda _node: Claim.REFUSED,
        loads=Loads,
        requests=requests,
    )
    take_over_requests(Round(state, batch, inputs, RulesInUse()))
    return [(event.type, event.payload["reason"]) for event in batch.events if event.type != "command.received"]


def test_what_has_expired_is_never_carried_out() -> None:
    """By the log's clock: a request is good up to its time, and answered with its expiry from then on."""
    state = ClusterState()
    assert _take_over(state, 99.9, Request("eve", "1-0", "arm-ha", (), expires=100.0)) == []
    assert list(state.commands) == [1]
    assert _take_over(state, 100.0, Request("eve", "2-0", "arm-ha", (), expires=100.0)) == [
        ("command.rejected", "expired")
    ]
    assert list(state.commands) == [1]


def test_what_is_sent_twice_is_done_once() -> None:
    """Of several requests of one user with one key the first is taken, whoever leads and however often it is sent."""
    state = ClusterState()
    first, again = (Request("eve", f"{place}-0", "arm-ha", (), key="k") for place in (1, 2))
    assert _take_over(state, 1.0, first, again) == [("command.ignored", "repeated")]
    assert list(state.commands) == [1]
    # A later leader, one that began with a snapshot.
    known = decode_state(encode_state(state))
    assert known is not None
    assert known.request_keys == {"eve/k": 1}
    assert _take_over(known, 2.0, Request("eve", "3-0", "arm-ha", (), key="k")) == [("command.ignored", "repeated")]
    assert _take_over(known, 3.0, Request("bob", "4-0", "arm-ha", (), key="k")) == []


def test_keys_do_not_grow_without_bound() -> None:
    """The state remembers the last keys only."""
    state = ClusterState()
    for place in range(KEYS_KEPT + 10):
        _take_over(state, 1.0, Request("eve", f"{place + 1}-0", "withdraw", ("1-0",), key=str(place)))
    assert len(state.request_keys) == KEYS_KEPT
    assert "eve/0" not in state.request_keys


@pytest.mark.parametrize("expires", ["nan", "inf", "soon", "", "9" * 400])
async def test_an_expiry_that_is_none_is_refused_as_any_entry_that_cannot_be_read(expires: str) -> None:
    """What another client writes there stops nobody, and is not carried out."""
    log = MemoryLog("main")
    fields = {"verb": "arm-ha", "arguments": "[]", "expires": expires}
    await log.side.add(f"{KIND}:eve", fields, keep=10)
    [request] = await pending_requests(log.side, ClusterState())
    assert request.problem is not None


async def test_a_live_leader_answers_what_expired_while_nobody_led(world: World) -> None:
    """A motion that was asked for too long ago is refused with that reason, and one sent twice moves once."""
    await world.begin()
    late = await send_request(world.log.side, "eve", "relocate", ["vm:1", "node3"], expires=await world.log.now() - 1.0)
    world.manager("node1")
    for node in world.nodes:
        world.agent(node)
    await world.until(world.at_rest, "everything runs")
    await world.until(lambda state: not state.commands and state.requests.get("eve") == late, "it is answered")
    events = await world.log.read()
    [rejected] = [event for event in events if event.type == "command.rejected"]
    assert rejected.payload["reason"] == "expired"
    assert not [event for event in events if event.type == "resource.relocate"]
    outcome = await world.command("relocate", "vm:1", "node3")
    assert outcome == Outcome(End.DONE, "vm:1 is on node3")


async def test_a_request_that_waits_is_listed_and_can_be_taken_back(tmp_path: Path) -> None:
    """Who, what, how old, until when; after withdrawing it is gone, and what is not there is said to be so."""
    server = EmbeddedRedis(tmp_path / "redis")
    await server.start()
    options = ("--log", server.url, "--cluster", "main")
    try:
        async with connect(server.url, "main") as log:
            token = await log.acquire("operator", "test", ttl=10)
            batch = Batch(None, "test", await log.now())
            batch.emit("cluster.created", "cluster", name="main")
            batch.emit("node.added", "node1")
            await log.append(batch.events, token=token)
            haes("maintenance", "on", "node1", "--user", "eve", "--no-wait", "--key", "once", *options)
            haes("arm", "--user", "eve", "--no-wait", "--expires", "never", *options)
            waiting = json.loads(haes("commands", "--json", *options)[0])["Waiting for a leader"]
            assert [(row["user"], row["asks for"]) for row in waiting] == [
                ("eve", "enable-node-maintenance node1"),
                ("eve", "arm-ha"),
            ]
            assert waiting[0]["expires"].startswith("in 2")
            assert waiting[1]["expires"] == "never"
            said, _ = haes("commands", "withdraw", waiting[0]["id"], "--user", "eve", *options)
            assert said == "withdrawn; nobody leads right now\n"
            left = await pending_requests(log.side, ClusterState())
            assert [(request.verb, request.arguments) for request in left] == [
                ("arm-ha", ()),
                ("withdraw", (waiting[0]["id"],)),
            ]
        assert "has no request" in refused("commands", "withdraw", waiting[0]["id"], "--user", "eve", *options)
        assert "is no request" in refused("commands", "withdraw", "first", *options)
        assert "allowed are" in refused("arm", "--expires", "0", *options)
    finally:
        await server.stop()
