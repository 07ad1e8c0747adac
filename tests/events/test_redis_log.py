"""The log on Redis keeps the promises of the port, and is honest about servers that cannot."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeGuard

import pytest

from events.embedded import EmbeddedRedis
from events.errors import HaesError, LogForked, LogMissing, LogUnavailable, StaleDecision, UserError
from events.log import redis as redis_log
from events.log import redis_fitness
from events.log.port import FOREIGN, Appended, Batch, LeaseInfo
from events.log.redis import RedisLog
from tests.events.contract import SOON, LogContract
from tests.events.hands import MICRO, RedisHands, forget_data
from tests.events.kinds import happened, many
from tests.servers import EVERY_SERVER


def _is_done(result: Appended | HaesError) -> TypeGuard[Appended]:
    return isinstance(result, Appended)


@pytest.fixture
async def hands(server: EmbeddedRedis) -> AsyncIterator[RedisHands]:
    """Provides an empty log on a server of its own."""
    log = RedisLog(server.url, "test")
    await log.open()
    yield RedisHands(log)
    await log.close()


@pytest.mark.parametrize("server", EVERY_SERVER, indirect=True)
class TestRedisLog(LogContract):
    """The contract, on every real server that is here."""


class TestStream:
    """What lies on the server."""

    async def test_an_entry_can_be_read_with_xrange_alone(self, hands: RedisHands) -> None:
        """Every field but the last is plain text, in the documented order, and the id ends in the number."""
        token = await hands.log.acquire("leader", "node1")
        await hands.log.append([happened(at=20.5)], token=token)
        [[entry_id, flat]] = await hands.ask("XRANGE", "haes:{test}:events", "-", "+")
        shown = dict(zip(flat[:-2:2], flat[1:-2:2], strict=True))
        assert entry_id.endswith(b"-1")
        assert list(shown.items()) == [
            (b"n", b"1"),
            (b"type", b"test.happened"),
            (b"subject", b"vm:101"),
            (b"by", b"node1/test"),
            (b"at", b"20.5"),
            (b"epoch", b"1"),
            (b"about", b"a test"),
        ]
        assert flat[-2] == b"data"

    async def test_all_keys_of_a_cluster_share_one_hash_tag(self, hands: RedisHands) -> None:
        """The log uses the documented keys and no others."""
        token = await hands.log.acquire("leader", "node1")
        await hands.log.append([happened()], token=token, command="1")
        names = ("done", "done:results", "epochs", "events", "head", "lease:leader", "versions")
        assert sorted(await hands.ask("KEYS", "*")) == [f"haes:{{test}}:{name}".encode() for name in names]

    async def test_clusters_do_not_meet(self, hands: RedisHands) -> None:
        """Two clusters on one server have logs and leases of their own."""
        other = RedisLog(hands.log.url, "test2")
        await other.open()
        try:
            token = await hands.log.acquire("leader", "node1")
            await hands.log.append([happened()], token=token)
            assert (await other.head()).n == 0
            assert (await other.acquire("leader", "node9")).epoch == 1
            assert (await other.head()).log_id != (await hands.log.head()).log_id
        finally:
            await other.close()

    async def test_opening_again_finds_the_same_log(self, hands: RedisHands) -> None:
        """A second program sees what the first one wrote, and its writes are fenced alike."""
        token = await hands.log.acquire("leader", "node1")
        await hands.log.append([happened()], token=token)
        other = RedisLog(hands.log.url, "test")
        await other.open()
        try:
            assert await other.head() == await hands.log.head()
            await other.append([happened()], token=token)
            assert [event.n for event in await hands.log.read()] == [1, 2]
        finally:
            await other.close()

    async def test_old_command_ids_are_forgotten(self, hands: RedisHands) -> None:
        """Command ids older than their age are removed by later appends, now and then, so that they do not pile up."""
        token = await hands.log.acquire("leader", "node1")
        for number in range(3):
            await hands.log.append([happened()], token=token, command=f"old/{number}")
        await hands.advance(redis_log.COMMAND_AGE + 1)
        await hands.log.append(many(64), token=token, command="new")
        assert await hands.ask("ZRANGE", hands.keys.done, 0, -1) == [b"new"]
        assert list(await hands.ask("HGETALL", hands.keys.results)) == [b"new"]

    async def test_a_server_that_forgot_the_scripts_gets_them_again(self, hands: RedisHands) -> None:
        """Neither an append nor many of them fail when the server's cache of scripts was emptied."""
        token = await hands.log.acquire("leader", "node1")
        await hands.ask("SCRIPT FLUSH")
        await hands.log.append([happened()], token=token)
        await hands.ask("SCRIPT FLUSH")
        await hands.log.append_many([Batch([happened(value=number)], token) for number in range(250)])
        values = [event.payload.get("value") for event in await hands.log.read()]
        assert values == [None, *range(250)]

    @pytest.mark.parametrize("entry_id", ["*", "99999999999999-7"])
    async def test_events_go_on_behind_what_somebody_else_wrote(self, hands: RedisHands, entry_id: str) -> None:
        """An entry written by hand, even in the far future, stops no append; every event is found from its neighbour."""
        token = await hands.log.acquire("leader", "node1")
        await hands.log.append(many(3), token=token)
        await hands.ask("XADD", hands.keys.events, entry_id, "key", "value")
        for _ in range(3):
            await hands.log.append(many(2), token=token)
        assert [event.n for event in await hands.log.read(lenient=True) if event.type != FOREIGN] == list(range(1, 10))
        for after in range(4, 9):
            assert [event.n for event in await hands.log.read(after)] == list(range(after + 1, 10))
        assert await hands.log.versions(["vm:0"]) == {"vm:0": 4}

    async def test_an_id_that_nothing_can_follow_is_noticed_before_anything_is_written(self, hands: RedisHands) -> None:
        """Where somebody else wrote the highest id, the append says so and leaves numbers and versions as they were."""
        token = await hands.log.acquire("leader", "node1")
        await hands.ask("XADD", hands.keys.events, f"{2**64 - 1}-0", "key", "value")
        with pytest.raises(LogForked, match="somebody else"):
            await hands.log.append([happened()], token=token, command="1")
        assert (await hands.log.head()).n == 0
        assert await hands.log.versions(["vm:101"]) == {"vm:101": 0}
        assert await hands.ask("EXISTS", hands.keys.done) == 0

    async def test_a_key_of_the_wrong_kind_is_noticed_before_anything_is_written(self, hands: RedisHands) -> None:
        """Scripts are not rolled back, so a damaged key must stop the append before its first write."""
        token = await hands.log.acquire("leader", "node1")
        for key in (hands.keys.done, hands.keys.versions, hands.keys.results):
            await hands.ask("SET", key, "foreign")
            with pytest.raises(UserError, match="not of HAES"):
                await hands.log.append([happened()], token=token, command="1")
            await hands.ask("DEL", key)
        assert await hands.ask("EXISTS", hands.keys.events) == 0

    async def test_batches_of_one_call_stand_for_themselves(self, hands: RedisHands) -> None:
        """Of many small batches each is done, refused or repeated by itself, and sees what those before it did."""
        token = await hands.log.acquire("leader", "node1")
        batches = [Batch([happened("vm:1")], token, {"vm:1": number}, f"c{number}") for number in range(30)]
        batches[7] = Batch([happened("vm:2"), happened("vm:1")], token, {"vm:2": 5}, "wrong")
        batches[8:9] = [batches[6], Batch([happened("vm:1")], token, {"vm:1": 7}), batches[8]]
        results = await hands.log.append_many(batches)
        assert isinstance(results[7], StaleDecision)
        assert isinstance(results[8], Appended)
        assert results[8].repeated
        assert results[8].first_n == 7
        done = [result.first_n for place, result in enumerate(results) if place not in {7, 8} and _is_done(result)]
        assert done == list(range(1, 31))
        assert await hands.log.versions(["vm:1", "vm:2"]) == {"vm:1": 30, "vm:2": 0}

    async def test_a_fault_within_a_call_keeps_what_was_done_before(self, hands: RedisHands) -> None:
        """Where the server refuses a batch, those before it count, and those after it were not tried."""
        token = await hands.log.acquire("leader", "node1")
        await hands.ask("SET", hands.keys.results, "foreign")
        batches = [Batch([happened()], token), Batch([happened()], token, None, "1"), Batch([happened()], token)]
        first, *others = await hands.log.append_many(batches)
        assert isinstance(first, Appended)
        assert [type(other) for other in others] == [UserError, UserError]
        assert (await hands.log.head()).n == 1

    async def test_many_writers_leave_one_order(self, hands: RedisHands) -> None:
        """Concurrent appends on one log are all there, each batch in one piece, numbers without a gap."""
        token = await hands.log.acquire("leader", "node1")
        await asyncio.gather(*(hands.log.append(many(5), token=token) for _ in range(20)))
        events = await hands.log.read()
        assert [event.n for event in events] == list(range(1, 101))
        assert [event.payload["value"] for event in events] == list(range(5)) * 20


class TestOpening:
    """What `open` refuses, each in one line."""

    @pytest.mark.parametrize("name", ["head", "events", "versions"])
    async def test_a_foreign_key_is_refused(self, server: EmbeddedRedis, hands: RedisHands, name: str) -> None:
        """A key that somebody else uses is never overwritten."""
        await hands.ask("SET", f"haes:{{other}}:{name}", "foreign")
        log = RedisLog(server.url, "other")
        with pytest.raises(UserError, match="not of HAES"):
            await log.open()
        assert await hands.ask("GET", f"haes:{{other}}:{name}") == b"foreign"

    async def test_a_foreign_key_beside_a_log_is_refused(self, server: EmbeddedRedis, hands: RedisHands) -> None:
        """A stream that became something else is named when the log is opened."""
        await hands.ask("SET", hands.keys.events, "foreign")
        with pytest.raises(UserError, match="not of HAES"):
            await RedisLog(server.url, "test").open()

    async def test_a_log_without_its_stream_is_missing(self, server: EmbeddedRedis, hands: RedisHands) -> None:
        """A head without the events it speaks of is a fault, not an empty log."""
        token = await hands.log.acquire("leader", "node1")
        await hands.log.append([happened()], token=token)
        await hands.ask("DEL", hands.keys.events)
        with pytest.raises(LogMissing):
            await RedisLog(server.url, "test").open()

    async def test_a_wrong_password_is_the_users_to_mend(self, server: EmbeddedRedis, hands: RedisHands) -> None:
        """Wrong or missing passwords are refused in one line that does not show them."""
        await hands.ask("CONFIG SET", "requirepass", "right")
        for url in (server.url, f"unix://user:secret@{server.socket}", f"{server.url}?password=secret"):
            with pytest.raises(UserError, match="user or the password") as caught:
                await RedisLog(url, "test").open()
            assert "secret" not in str(caught.value)
            assert "\n" not in str(caught.value)

    async def test_a_server_that_may_drop_the_log_is_refused(self, server: EmbeddedRedis, hands: RedisHands) -> None:
        """Under an eviction policy for all keys the log is one key that can be dropped."""
        await hands.ask("CONFIG SET", "maxmemory-policy", "allkeys-lru")
        with pytest.raises(UserError, match="noeviction"):
            await RedisLog(server.url, "test").open()

    async def test_an_old_server_is_refused(self, server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server without the commands in use is refused by version."""
        monkeypatch.setattr(redis_fitness, "OLDEST_SERVER", (99, 0))
        with pytest.raises(UserError, match=r"99\.0 or newer"):
            await RedisLog(server.url, "test").open()

    async def test_a_database_that_does_not_exist_is_refused(self, server: EmbeddedRedis) -> None:
        """The number of a database is the user's to mend."""
        with pytest.raises(UserError, match="database"):
            await RedisLog(f"{server.url}?db=99", "test").open()

    async def test_nobody_there_is_unavailable(self) -> None:
        """A server that cannot be reached is named by URL, without its password."""
        with pytest.raises(LogUnavailable, match=r"redis://:\*\*\*@127\.0\.0\.1:1/") as caught:
            await RedisLog("redis://:secret@127.0.0.1:1/", "test").open()
        assert "secret" not in str(caught.value)

    async def test_something_else_there_is_refused(self) -> None:
        """What answers but does not speak Redis is named."""

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
            writer.close()

        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        try:
            with pytest.raises((UserError, LogUnavailable), match=f"127.0.0.1:{port}"):
                await RedisLog(f"redis://127.0.0.1:{port}", "test").open()
        finally:
            listener.close()
            await listener.wait_closed()

    async def test_a_closed_log_says_so(self, server: EmbeddedRedis) -> None:
        """Using a log before it was opened is an error of its own, not one of the client."""
        with pytest.raises(LogUnavailable, match="not open"):
            await RedisLog(server.url, "test").head()


class TestOtherServer:
    """Another server takes over, or the same one was restarted."""

    async def test_every_lease_gets_a_full_term(self, server: EmbeddedRedis, hands: RedisHands) -> None:
        """Nobody could renew while the server was away, so no lease runs out for that."""
        await hands.log.acquire("agent/node2", "node2", ttl=10)
        token = await hands.log.acquire("leader", "node1", ttl=1000)
        await hands.advance(900)
        await hands.log.append([happened()], token=token)
        await server.stop()
        await server.start()
        leases = await _patiently(hands)
        assert leases["leader"].expires_in == pytest.approx(1000, abs=10)
        await hands.log.append([happened()], token=token)
        # This one had run out before the server went away, so nothing was taken from it.
        assert leases["agent/node2"].expires_in == pytest.approx(-890, abs=10)

    async def test_domain_time_goes_on(self, hands: RedisHands) -> None:
        """Where the new server's clock is behind, time goes on from the last one that was handed out."""
        token = await hands.log.acquire("leader", "node1")
        ahead = await hands.log.now() + 3600
        await hands.ask("HSET", hands.keys.head, "last_time", round(ahead * MICRO))
        assert await hands.log.now() == pytest.approx(ahead, abs=0.001)
        first = await hands.log.append([happened()], token=token)
        second = await hands.log.append([happened()], token=token)
        assert ahead <= first.server_time < second.server_time < await hands.log.now()

    async def test_a_log_that_is_gone_is_not_made_anew(self, server: EmbeddedRedis, hands: RedisHands) -> None:
        """A server that comes back empty has lost the log; reconnecting does not hide that."""
        await server.stop()
        forget_data(server.folder)
        await server.start()
        with pytest.raises(LogMissing):
            await asyncio.wait_for(_retry_head(hands), SOON)


async def _patiently(hands: RedisHands) -> dict[str, LeaseInfo]:
    """Returns the leases, once the connection is back."""
    async with asyncio.timeout(SOON):
        while True:
            try:
                return await hands.log.leases()
            except LogUnavailable:
                await asyncio.sleep(0)


async def _retry_head(hands: RedisHands) -> None:
    """Asks for the head until the connection is back."""
    while True:
        try:
            await hands.log.head()
        except LogUnavailable:
            await asyncio.sleep(0)
