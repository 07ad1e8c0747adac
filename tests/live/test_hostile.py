"""Whatever one user, one node or one sample says, the others are served as if it had not been said."""

import asyncio
import json
from collections.abc import Mapping

import pytest
from redis.asyncio import Redis

from events.embedded import EmbeddedRedis
from events.errors import UserError
from events.log.memory import MemoryLog
from events.url import connect
from haes.live.outcome import End
from haes.live.requests import KIND, forget_received, pending_requests, read_set_aside, send_request
from haes.live.status import trouble
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from tests.live.world import LIMIT, World

DEEP = "[" * 100_000 + "]" * 100_000


def _fields(verb: str, *arguments: str) -> dict[str, str | bytes]:
    return {"verb": verb, "arguments": json.dumps(arguments)}


# What clients that do not know the rules might write, and the reason of the answer.
HOSTILE: list[tuple[Mapping[str, str | bytes], str]] = [
    (_fields("change-settings", '{"crs": {"ha-auto-rebalance-cooldown": 1e30}}'), "not_allowed"),
    (_fields("change-settings", '{"crs": {"ha-load-average-window": 123456789012345678901234}}'), "not_allowed"),
    (_fields("change-settings", '{"crs": {"ha-auto-rebalance-hold-duration": NaN}}'), "not_allowed"),
    (_fields("change-settings", '{"crs": {"ha-auto-rebalance-hold-duration": "inf"}}'), "not_allowed"),
    (_fields("change-settings", DEEP), "not_allowed"),
    (_fields("stop", "vm:2", "99999999999999999999999"), "not_allowed"),
    (_fields("stop", "vm:2", "9" * 10_000), "not_allowed"),
    (_fields("migrate", "vm:\udcff", "node1"), "unusable"),
    (_fields("configure", "vm:3", '{"directory": "\\udcff"}'), "undecidable"),
    (_fields("configure", "vm:3", '{"memory": ' + "9" * 400 + "}"), "not_allowed"),
    (_fields("explode", *(["x"] * 1000)), "unusable"),
    (_fields("explode", "x" * 5_000_000), "unusable"),
    ({"verb": "migrate", "arguments": DEEP}, "unusable"),
    ({"verb": b"\xff", "arguments": "[]"}, "unusable"),
    ({"verb": "migrate", "arguments": '{"a": 1}'}, "unusable"),
    ({"something": "else"}, "unusable"),
]


async def test_no_request_keeps_others_from_being_served(world: World) -> None:
    """Each request that cannot be decided is rejected by itself, its entry removed, and the next one is carried out."""
    await world.all()
    for fields, _ in HOSTILE:
        await world.log.side.add(f"{KIND}:mallory", fields, keep=1000)
    assert (await world.command("migrate", "vm:1", "node3")).end is End.DONE
    events = await world.events()
    received = [event for event in events if event.type == "command.received" and event.payload["user"] == "mallory"]
    assert len(received) == len(HOSTILE)
    answers = {event.payload["id"]: event.payload["reason"] for event in events if event.type == "command.rejected"}
    assert [answers[event.payload["id"]] for event in received] == [reason for _, reason in HOSTILE]
    async with asyncio.timeout(LIMIT):
        while await world.log.side.read({f"{KIND}:mallory": "0-0"}):
            await asyncio.sleep(0.02)
    assert not (await world.state()).commands


async def test_a_resource_that_cannot_be_decided_is_parked_alone(world: World) -> None:
    """An event that leads to nonsense parks its resource; the others go on, and configuring it anew mends it."""
    await world.all()
    token = await world.log.acquire("operator", "test")
    batch = Batch(None, "test", await world.log.now())
    batch.emit("resource.configured", "vm:2", changes={"state": ["odd"], "max_relocate": "many"})
    await world.log.append(batch.events, token=token)
    state = await world.until(lambda state: "vm:2" in state.parked, "it is parked")
    assert (await world.command("migrate", "vm:1", "node3")).end is End.DONE
    refused = await world.command("migrate", "vm:2", "node3")
    assert refused.end is End.REJECTED
    assert "vm:2 is parked" in refused.text
    assert any("vm:2 is parked" in line for line in trouble(await world.state(), {}))
    n = (await world.state()).n
    await world.command("configure", "vm:2", '{"state": "started", "max_relocate": 1}')
    state = await world.until(lambda state: not state.parked and world.at_rest(state), "it goes on")
    parked = [event for event in await world.events() if event.type == "subject.parked"]
    assert [event.subject for event in parked] == ["vm:2"]
    assert state.n > n > parked[0].n


async def test_what_a_user_makes_of_his_own_stream_is_his_alone(server: EmbeddedRedis) -> None:
    """A user who turns his stream into something else, or names streams that are none, harms nobody else's requests."""
    async with connect(server.url, "main") as log, Redis.from_url(server.url) as client:
        await send_request(log.side, "eve", "arm-ha", [])
        await client.execute_command(
            "SADD", "haes:{main}:sides", "commands:mallory", b"commands:\xff", b"\xff", "x" * 9999
        )
        await client.execute_command("SADD", "haes:{main}:commands:mallory", "no stream")
        await client.execute_command("XADD", "haes:{main}:commands:eve", "*", b"\xff", b"\xff")
        found = await pending_requests(log.side, ClusterState())
        assert [(request.user, request.verb, bool(request.problem)) for request in found] == [
            ("eve", "arm-ha", False),
            ("eve", "?", True),
        ]
        state = ClusterState()
        state.requests["eve"] = found[1].id
        await forget_received(log.side, state)
        assert not await pending_requests(log.side, ClusterState())
        [aside] = await read_set_aside(log.side)
        assert (aside["user"], aside["request"]) == ("eve", found[1].id)


@pytest.mark.parametrize(
    ("user", "verb", "arguments"),
    [
        ("eve", "migrate", ["vm:\udcff", "node1"]),
        ("eve", "change-rules", ["x" * 2_000_000]),
        ("eve", "explode", ["x"] * 20),
        ("\udcff", "arm-ha", []),
        ("e" * 1000, "arm-ha", []),
    ],
)
async def test_what_cannot_be_a_request_is_refused_at_the_door(user: str, verb: str, arguments: list[str]) -> None:
    """Whoever uses the library to ask for what no event can hold is told so before anything is written."""
    log = MemoryLog("main")
    with pytest.raises(UserError, match=r"bytes|UTF-8|arguments"):
        await send_request(log.side, user, verb, arguments)
    assert not await log.side.names(KIND)
