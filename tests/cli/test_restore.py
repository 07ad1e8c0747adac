"""`haes log restore`: a log is put together again from whatever has a part of it, on a real server."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from events.archive import write_segment
from events.embedded import EmbeddedRedis
from events.log.port import EventLog, Head
from events.log.redis_keys import keys_of
from events.url import connect
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from haes.state.cluster import ClusterState
from haes.state.restore import restore_state, save_state
from tests.cli.running import SCENARIOS, haes, refused

CLUSTER = "test"
KEYS = keys_of(CLUSTER)


class Place:
    """A server with the log of a simulated cluster whose balancer has something to remember.

    Attributes:
        url: of the server.
        client: can do anything to it.
        head: of the log as it was.
        state: what it led to.
    """

    def __init__(self, url: str, client: Any, head: Head, state: ClusterState) -> None:
        self.url = url
        self.client = client
        self.head = head
        self.state = state

    @property
    def options(self) -> tuple[str, ...]:
        """The options that name the log."""
        return ("--log", self.url, "--cluster", CLUSTER)

    async def restored(self) -> tuple[Head, ClusterState]:
        """Returns head and state as they are now."""
        async with connect(self.url, CLUSTER) as log:
            return await log.head(), await restore_state(log)

    def remembered(self, state: ClusterState) -> Any:
        """Returns what a cluster must not forget: everything but how far it has got."""
        return {
            name: value
            for name, value in state.to_data().items()
            if name not in {"n", "at", "epoch", "versions", "accepted_log", "lost_events"}
        }


async def _simulated(log: EventLog) -> tuple[Head, ClusterState]:
    await simulate(load_scenario(SCENARIOS / "fa109"), log, lambda _event: None)
    return await log.head(), await restore_state(log)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """Provides it."""
    server = EmbeddedRedis(tmp_path / "place")
    await server.start()
    client: Any = Redis(unix_socket_path=server.socket)
    try:
        async with connect(server.url, CLUSTER) as log:
            head, state = await _simulated(log)
        assert state.balance != ClusterState().balance
        yield Place(server.url, client, head, state)
    finally:
        await client.aclose()
        await server.stop()


async def _archive(place: Place, folder: Path, *parts: tuple[int, int]) -> None:
    async with connect(place.url, CLUSTER) as log:
        for first, last in parts:
            await write_segment(log, folder, first, last)


async def test_a_flushed_server_gets_its_log_back_from_the_archive(place: Place, tmp_path: Path) -> None:
    """Same events, same state with all that the balancer remembers, a new generation; shown first, done with --yes."""
    folder, n = tmp_path / "archive", place.head.n
    await _archive(place, folder, (1, 100), (101, n))
    await place.client.flushall()
    shown, _ = haes("log", "restore", "--archive", folder, *place.options)
    assert "there now: no log" in shown
    assert f"events 1 to {n}: from {folder}" in shown
    assert "nothing was changed" in shown
    assert await place.client.dbsize() == 0
    haes("log", "restore", "--archive", folder, "--yes", *place.options)
    head, state = await place.restored()
    assert (head.log_id, head.n) == (place.head.log_id, n + 1)
    assert place.remembered(state) == place.remembered(place.state)
    assert {**place.state.versions, "log": 1} == state.versions
    async with connect(place.url, CLUSTER) as log:
        assert await log.versions(state.versions) == state.versions
        [told] = await log.read(n)
        assert (told.type, told.payload["sources"]) == ("log.restored", [[str(folder), 1, n]])
        assert told.payload["known_n"] == n
    haes("verify", *place.options)


async def test_parts_that_lie_in_several_places_are_put_together(place: Place, tmp_path: Path) -> None:
    """What still lies there, another copy of the log and an archive each give what the others lack."""
    folder, n = tmp_path / "archive", place.head.n
    await _archive(place, folder, (1, 40), (n - 20, n))
    older = EmbeddedRedis(tmp_path / "older")
    await older.start()
    try:
        copy: Any = Redis(unix_socket_path=older.socket)
        for key in (KEYS.events, KEYS.head, KEYS.epochs, KEYS.versions):
            await copy.restore(key, 0, await place.client.dump(key))
        # The copy begins at 30 and ends at n - 10; the log itself is gone.
        entries = await copy.xrange(KEYS.events)
        await copy.xdel(KEYS.events, *(entry for entry, _ in entries[:29]), *(entry for entry, _ in entries[n - 10 :]))
        await copy.aclose()
        await place.client.delete(KEYS.events)
        shown, _ = haes(
            *("log", "restore", "--yes", "--from", older.url, "--archive", folder, *place.options),
        )
    finally:
        await older.stop()
    assert f"events 1 to 40: from {folder}" in shown
    assert f"events 41 to {n - 10}: from {older.url}" in shown
    assert f"events {n - 9} to {n}: from {folder}" in shown
    head, state = await place.restored()
    assert head.n == n + 1
    assert place.remembered(state) == place.remembered(place.state)


async def test_a_snapshot_stands_for_events_that_are_nowhere(place: Place) -> None:
    """With nothing left but a snapshot the state is back as it was then, and what came before is said to be gone."""
    async with connect(place.url, CLUSTER) as log:
        await save_state(log, place.state)
    await place.client.delete(KEYS.events)
    shown, _ = haes("log", "restore", "--yes", *place.options)
    assert f"events 1 to {place.head.n} are gone; a snapshot" in shown
    head, state = await place.restored()
    assert head.n == place.head.n + 1
    assert head.generation > place.head.generation
    assert place.remembered(state) == place.remembered(place.state)


async def test_no_right_of_before_is_good_and_epochs_go_on(place: Place, tmp_path: Path) -> None:
    """Whoever held a lease on the lost log can neither write nor act with it, and new rights are above all old ones."""
    await _archive(place, tmp_path / "archive", (1, place.head.n))
    async with connect(place.url, CLUSTER) as log:
        old = await log.acquire("agent/node1", "node1/lrm")
    await place.client.delete(KEYS.events)
    haes("log", "restore", "--yes", "--archive", tmp_path / "archive", *place.options)
    async with connect(place.url, CLUSTER) as log:
        new = await log.acquire("agent/node1", "node1/lrm")
        assert (new.generation, new.epoch) > (old.generation, old.epoch)
        assert new.generation > old.generation
        leader = await log.acquire("leader", "node1")
        assert leader.epoch > place.state.epoch


async def test_requests_that_nobody_has_received_are_kept(place: Place, tmp_path: Path) -> None:
    """What users asked for while the log was away waits for whoever leads next."""
    await _archive(place, tmp_path / "archive", (1, place.head.n))
    async with connect(place.url, CLUSTER) as log:
        await log.side.add("commands:alice", {"verb": "stop", "arguments": '["vm:101"]'}, keep=10)
    await place.client.delete(KEYS.events, KEYS.head)
    shown, _ = haes("log", "restore", "--yes", "--archive", tmp_path / "archive", *place.options)
    assert "kept: 1 requests of alice" in shown
    async with connect(place.url, CLUSTER) as log:
        assert len(await log.side.read_all("commands:alice")) == 1


async def test_what_is_known_and_not_recovered_is_named(place: Place, tmp_path: Path) -> None:
    """Missing numbers are counted, and events that a part has beyond a fork are named with number and kind."""
    n = place.head.n
    await _archive(place, tmp_path / "archive", (1, n))
    entries = await place.client.xrange(KEYS.events)
    await place.client.xdel(KEYS.events, *(entry for entry, _ in entries[100:]))
    await place.client.hset(KEYS.head, mapping={"n": 100, "last_id": entries[99][0]})
    async with connect(place.url, CLUSTER) as log:
        token = await log.acquire("operator", "test")
        [event] = await log.read(99, count=1)
        await log.append([event] * 3, token=token)
        await log.release(token)
    await place.client.hset(KEYS.head, "n", 110)
    shown, _ = haes("log", "restore", "--yes", "--archive", tmp_path / "archive", *place.options)
    assert "its event 103 is another one" in shown
    assert f"not recovered: events 104 to {n} ({n - 103})" in shown
    async with connect(place.url, CLUSTER) as log:
        [told] = await log.read(103)
    lost = [[int(fields[b"n"]), fields[b"type"].decode(), fields[b"subject"].decode()] for _, fields in entries[103:]]
    assert told.payload["lost"] == lost[:100]
    assert told.payload["known_n"] == n


async def test_a_log_that_works_is_not_replaced(place: Place, tmp_path: Path) -> None:
    """While somebody leads, or where nothing would be won, the command refuses in one line and changes nothing."""
    await _archive(place, tmp_path / "archive", (1, place.head.n))
    words = ("log", "restore", "--yes", "--archive", tmp_path / "archive", *place.options)
    assert "nothing that was found goes beyond what is there" in refused(*words)
    async with connect(place.url, CLUSTER) as log:
        await log.acquire("leader", "node2/crm@host", ttl=60)
    await place.client.delete(KEYS.events)
    before = await place.client.hgetall(KEYS.head)
    assert "node2/crm@host leads" in haes(*words, status=2)[1]
    assert await place.client.hgetall(KEYS.head) == before
    await place.client.flushall()
    assert "nothing is there to restore from" in refused("log", "restore", *place.options)


async def test_a_log_without_its_beginning_is_not_accepted(place: Place) -> None:
    """What no process can begin with is not accepted: the command names the way back instead."""
    entries = await place.client.xrange(KEYS.events, count=10)
    await place.client.xdel(KEYS.events, *(entry for entry, _ in entries))
    assert "haes log restore" in refused("log", "accept-regression", *place.options)
