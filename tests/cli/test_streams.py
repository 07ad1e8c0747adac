"""Commands on streams that are not as they should be: one line that says what, and nothing written by the way."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from events.embedded import EmbeddedRedis
from events.url import connect
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from tests.cli.running import SCENARIOS, haes, refused

CLUSTER = "test"
EVENTS = f"haes:{{{CLUSTER}}}:events"
# Every command that works on a stream that is there already.
READERS: tuple[tuple[str, ...], ...] = (
    ("replay",),
    ("replay", "--json"),
    ("explain", "vm:102"),
    ("whatif", "--set", "ha=basic"),
    ("rebalance", "status"),
    ("rebalance", "advise"),
    ("rebalance", "retry"),
)


@asynccontextmanager
async def _server(folder: Path) -> AsyncIterator[tuple[tuple[str, ...], Any]]:
    """Provides the options of a log on a server of its own, and a client that can do anything to it."""
    server = EmbeddedRedis(folder)
    await server.start()
    client: Any = Redis(unix_socket_path=server.socket)
    try:
        yield ("--log", server.url, "--cluster", CLUSTER), client
    finally:
        await client.aclose()
        await server.stop()


async def _everything(client: Any) -> dict[bytes, bytes]:
    # A log's head is not compared: whoever opens a log notes there which server keeps its time.
    return {key: await client.dump(key) for key in await client.keys("*") if not key.endswith(b":head")}


async def _live(options: tuple[str, ...]) -> None:
    """Lets a simulation write a stream."""
    async with connect(options[1], CLUSTER) as log:
        await simulate(load_scenario(SCENARIOS / "fa109"), log, lambda _: None)


@pytest.mark.parametrize("kind", ["text", "stream"])
async def test_a_key_of_somebody_else_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    """Where the log should be lies something else: every command names the key, and none changes anything."""
    async with _server(tmp_path / "log") as (options, client):
        await (client.set(EVENTS, "mine") if kind == "text" else client.xadd(EVENTS, {"mine": "yes"}))
        before = await _everything(client)
        for words in (*READERS, ("verify",), ("simulate", str(SCENARIOS / "fa109"))):
            assert EVENTS in refused(*words, *options)
        assert await _everything(client) == before


async def test_a_damaged_entry_is_named_and_nothing_is_guessed(tmp_path: Path) -> None:
    """What an entry that cannot be decoded is about is parked and said to be; who decides or verifies names it."""
    async with _server(tmp_path / "log") as (options, client):
        await _live(options)
        entries = await client.xrange(EVENTS)
        await client.delete(EVENTS)
        for entry_id, fields in entries:
            damage = {b"data": b"\xff\xc1"} if fields[b"n"] == b"50" else {}
            await client.xadd(EVENTS, {**fields, **damage}, id=entry_id)
        before = await _everything(client)
        for words in READERS:
            if words[0] in {"replay", "explain"}:
                assert "warning: vm:102 is as before event 50, which could not be applied" in haes(*words, *options)[1]
            else:
                assert "event 50 " in refused(*words, *options)
        assert [item["subject"] for item in json.loads(haes("replay", "--json", *options)[0])["parked"]] == ["vm:102"]
        assert "WRONG at event 50 " in haes("verify", *options, status=1)[0]
        assert "has events already" in refused("simulate", SCENARIOS / "fa109", *options)
        assert await _everything(client) == before


async def test_a_cluster_without_events_is_said_to_have_none(tmp_path: Path) -> None:
    """A name that nobody used is named, with the option that chooses another, and gets no event by being asked for."""
    async with _server(tmp_path / "log") as (options, client):
        await _live(options)
        before = await _everything(client)
        for words in (*READERS, ("verify",)):
            error = refused(*words, *options[:2], "--cluster", "nobody")
            assert "cluster 'nobody' has no events" in error
            assert "--cluster" in error
        assert await _everything(client) == before


@pytest.mark.parametrize("words", [*READERS, ("verify",), ("archive", "list", "segments")])
def test_reading_makes_no_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A slip of the pen in an embedded log's path leaves no folder and no server files behind."""
    (tmp_path / "other").mkdir()
    for name in ("missing", "other"):
        assert f"{name}: there is no log" in refused(*words, "--log", f"embedded:{tmp_path / name}")
    assert [path.name for path in tmp_path.rglob("*")] == ["other"]


@pytest.mark.parametrize("spoilt", ["service_config", "cmdlist", "datacenter.cfg"])
def test_a_scenario_that_is_refused_writes_nothing(tmp_path: Path, spoilt: str) -> None:
    """Inputs are checked as a whole before a server is started, so that no log begins that cannot go on."""
    scenario = tmp_path / "scenario"
    scenario.mkdir()
    (scenario / spoilt).write_text("{ not JSON")
    assert spoilt in refused("simulate", scenario, "--log", f"embedded:{tmp_path / 'log'}")
    assert not (tmp_path / "log").exists()
