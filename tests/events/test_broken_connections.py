"""Lost replies, servers that stall, connections that break: nothing is written twice, nobody waits for ever."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from events.embedded import EmbeddedRedis
from events.errors import Fenced, LogUnavailable
from events.log import redis_client
from events.log.port import Batch
from events.log.redis import RedisLog
from tests.events.kinds import happened, many
from tests.events.proxy import Proxy

# Seconds that bound every wait for something that comes at once.
SOON = 5.0
# Seconds after which a client of these tests gives up, so that a stalled server costs a test no more.
BRIEF = 0.5


@pytest.fixture
async def proxy(server: EmbeddedRedis) -> AsyncIterator[Proxy]:
    """Provides a proxy in front of the server."""
    proxy = Proxy(server.socket)
    await proxy.start()
    yield proxy
    await proxy.stop()


@pytest.fixture
async def log(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RedisLog]:
    """Provides a log behind the proxy."""
    monkeypatch.setattr(redis_client, "COMMAND_TIMEOUT", BRIEF)
    log = RedisLog(proxy.url, "test")
    await log.open()
    yield log
    await log.close()


async def test_an_append_whose_reply_was_lost_is_written_once(log: RedisLog, proxy: Proxy) -> None:
    """The outcome is reported as unknown; the same command id again returns the first result and writes nothing."""
    token = await log.acquire("leader", "node1")
    proxy.drop_reply()
    with pytest.raises(LogUnavailable, match="outcome of the append is unknown"):
        await log.append(many(3), token=token, command="round/1")
    assert (await log.head()).n == 3
    again = await log.append(many(3), token=token, command="round/1")
    assert again.repeated
    assert (again.first_n, len(again.ids)) == (1, 3)
    assert [event.id for event in await log.read()] == list(again.ids)


async def test_many_appends_whose_replies_were_lost_are_written_once(log: RedisLog, proxy: Proxy) -> None:
    """Every batch of a broken round trip is reported as unknown, and all can be repeated."""
    token = await log.acquire("leader", "node1")
    batches = [Batch([happened(value=number)], token, command=f"c/{number}") for number in range(30)]
    proxy.drop_reply()
    results = await log.append_many(batches)
    assert all(isinstance(result, LogUnavailable) for result in results)
    results = await log.append_many(batches)
    assert not any(isinstance(result, Exception) for result in results)
    assert [event.payload["value"] for event in await log.read()] == list(range(30))


async def test_a_server_that_stalls_is_given_up(log: RedisLog, proxy: Proxy) -> None:
    """A command ends within its time limit, and its late reply never answers another command."""
    token = await log.acquire("leader", "node1")
    proxy.stall()
    with pytest.raises(LogUnavailable, match=r"in time.*unknown"):
        await asyncio.wait_for(log.append([happened()], token=token, command="round/1"), SOON)
    proxy.resume()
    assert (await log.append([happened()], token=token, command="round/1")).repeated
    assert (await log.head()).n == 1


async def test_a_quiet_log_does_not_look_like_a_broken_one(log: RedisLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends a block before the client gives up, however long the wait."""
    checkpoint = await log.attach(None)
    assert redis_client.BLOCK_LIMIT < redis_client.READER_TIMEOUT
    monkeypatch.setattr("events.log.redis_reader.BLOCK_LIMIT", 0.05)
    assert await log.wait(checkpoint, 0.2) == []


async def test_a_follower_whose_connection_breaks_is_told(log: RedisLog, proxy: Proxy) -> None:
    """A cut connection ends the wait with an error; the follower attaches again and misses nothing."""
    token = await log.acquire("leader", "node1")
    await log.append([happened()], token=token)
    checkpoint = (await log.attach(None)).after((await log.read())[-1])
    proxy.forwarded.clear()
    waiting = asyncio.create_task(log.wait(checkpoint, SOON))
    await asyncio.wait_for(proxy.forwarded.wait(), SOON)
    proxy.cut()
    with pytest.raises(LogUnavailable):
        await asyncio.wait_for(waiting, SOON)
    async with asyncio.timeout(SOON):
        while True:
            try:
                await log.append([happened()], token=token, command="next")
                break
            except LogUnavailable:
                await asyncio.sleep(0)
    checkpoint = await log.attach(checkpoint)
    assert [event.n for event in await log.wait(checkpoint, SOON)] == [2]


async def test_a_lost_reply_to_a_renewal_changes_no_holder(log: RedisLog, proxy: Proxy) -> None:
    """The holder cannot know whether it was renewed, but the token stays good and can be renewed again."""
    token = await log.acquire("leader", "node1", ttl=100)
    proxy.drop_reply()
    with pytest.raises(LogUnavailable):
        await log.renew(token, ttl=100)
    await log.renew(token, ttl=100)
    await log.release(token)
    with pytest.raises(Fenced):
        await log.renew(token, ttl=100)


async def test_an_append_that_was_cancelled_does_not_answer_the_next_command(log: RedisLog, proxy: Proxy) -> None:
    """A cancelled append may have been written; later commands get their own replies, and its id tells."""
    token = await log.acquire("leader", "node1")
    proxy.stall()
    proxy.forwarded.clear()
    appending = asyncio.create_task(log.append([happened()], token=token, command="round/1"))
    await asyncio.wait_for(proxy.forwarded.wait(), SOON)
    appending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await appending
    proxy.resume()
    await log.append([happened()], token=token, command="round/1")
    assert (await log.head()).n == 1
