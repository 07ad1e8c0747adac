"""Whatever one user, one node or one sample says, the others are served as if it had not been said."""

import json
from collections.abc import Mapping

import pytest

from haes.live.outcome import End
from haes.live.requests import KIND
from tests.live.world import World

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


@pytest.mark.xfail(strict=True, reason="such a request ends every manager")
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
    await world.command("explode")
    assert not await world.log.side.read({f"{KIND}:mallory": "0-0"})
    assert not (await world.state()).commands
