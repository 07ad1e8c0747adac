"""What happens to the server of the log, and on the way to it."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from events.envelope import Event
from events.log import scripts
from events.log.redis_keys import keys_of
from tests.chaos.cluster import AGENT_LEASE, PATIENT, REST_LIMIT, TEST_LIMIT, LiveCluster
from tests.chaos.redis_server import RedisServer
from tests.cli.running import haes
from tests.events.proxy import Proxy

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(TEST_LIMIT)]

Make = Callable[..., Awaitable[LiveCluster]]


@pytest.fixture
async def proxy(redis: RedisServer) -> AsyncIterator[Proxy]:
    """Provides a way to the server that can be disturbed."""
    proxy = Proxy(str(redis.socket))
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()


def _of(events: list[Event], *types: str) -> list[Event]:
    return [event for event in events if event.type in types]


async def test_a_server_that_is_killed_and_restarted_loses_nobody(make: Make, redis: RedisServer) -> None:
    """With its file on disk the server comes back as it was: no node is fenced, no service stops."""
    cluster = await make(**PATIENT)
    before = await cluster.events()
    await redis.kill()
    await redis.start()
    outcome = await cluster.command("relocate", "process:a", "node3")
    assert outcome.text == "process:a is on node3"
    events = await cluster.check_invariants()
    assert [event.id for event in events[: len(before)]] == [event.id for event in before]
    assert not _of(events, "node.fence", "node.watchdog_fired", "log.regressed")


async def test_a_server_that_lost_its_last_events_is_found_out(make: Make, redis: RedisServer) -> None:
    """What the lost tail held is named on the stream, agents say what really runs, and everything goes on once."""
    cluster = await make()
    redis.copy_file()
    outcome = await cluster.command("relocate", "process:a", "node3")
    assert outcome.text == "process:a is on node3"
    n = (await cluster.events())[-1].n
    await redis.kill()
    redis.restore_file()
    await redis.start()
    await cluster.until(lambda state: state.n > 0 and cluster.at_rest(state), "it rests")
    await cluster.until(lambda state: any(name == "log" for name in state.versions), "the loss is on record")
    await cluster.settle()
    events = await cluster.check_invariants()
    [regressed] = _of(events, "log.regressed")
    assert regressed.payload["known_n"] >= n > regressed.payload["found_n"]
    assert [type_ for _, type_, _ in regressed.payload["lost"] if type_ == "resource.relocate"]
    assert regressed.payload["generation"] > 1


async def test_a_server_away_for_longer_than_every_lease_is_no_reason_to_fence(make: Make, redis: RedisServer) -> None:
    """Services stop where they are, since nobody may run twice; when the server is back they start there again."""
    cluster = await make()
    redis.signal(signal.SIGSTOP)
    await asyncio.sleep(3 * AGENT_LEASE)
    redis.signal(signal.SIGCONT)
    await cluster.until(lambda state: "node1" in state.agents and cluster.at_rest(state), "everything runs again")
    await asyncio.sleep(AGENT_LEASE)
    state = await cluster.settle()
    assert {name: record.node for name, record in state.resources.items()} == cluster.services
    events = await cluster.check_invariants()
    assert not _of(events, "node.fence", "resource.recovery")


async def test_services_that_are_to_be_kept_outlive_an_outage(make: Make, redis: RedisServer) -> None:
    """With on_store_loss = keep a service goes on without the log, and is not started elsewhere meanwhile."""
    cluster = await make(extra={"process:a": 'on_store_loss = "keep"\n'})
    begun = [event.n for event in _of(await cluster.events(), "job.running") if event.subject == "process:a"]
    await redis.kill()
    await asyncio.sleep(2 * AGENT_LEASE)
    await redis.start()
    await cluster.until(lambda state: state.n > 0 and cluster.at_rest(state), "everything runs again")
    await asyncio.sleep(AGENT_LEASE)
    await cluster.settle()
    events = await cluster.check_invariants()
    assert [event.n for event in _of(events, "job.running") if event.subject == "process:a"] == begun
    [fired, *_] = [event for event in _of(events, "node.watchdog_fired") if event.subject == "node2"]
    assert fired.payload["killed"] == ["process:b"]


async def test_kept_services_move_only_when_somebody_vouches_for_their_node(make: Make) -> None:
    """Nobody can know whether a kept service still runs on a lost node; an operator's word lets it be recovered."""
    cluster = await make(extra={"process:a": 'on_store_loss = "keep"\n'})
    await cluster.kill("agent", "node1")
    await cluster.until(lambda state: state.nodes["node1"] == "fence", "the node is to be fenced")
    await asyncio.sleep(AGENT_LEASE)
    assert (await cluster.state()).resources["process:a"].state == "fence"
    from haes.drivers.process.keeper import clean  # noqa: PLC0415 - pulls the plug

    await asyncio.to_thread(clean, cluster.directory / "node1")
    await cluster.command("confirm-fenced", "node1")
    await cluster.until(
        lambda state: state.resources["process:a"].node != "node1" and cluster.at_rest(state), "it runs"
    )
    await cluster.check_invariants()


async def test_an_agent_that_is_cut_off_stops_its_services_before_they_start_elsewhere(
    make: Make, proxy: Proxy
) -> None:
    """An agent without the log fences itself in time; the others go on, and it comes back clean."""
    cluster = await make(urls={"node1": proxy.url}, managers=("node2", "node3"))
    proxy.stall()
    await cluster.until(
        lambda state: state.resources["process:a"].node != "node1" and cluster.at_rest(state), "it runs elsewhere"
    )
    proxy.resume()
    proxy.cut()
    await cluster.until(lambda state: state.nodes["node1"] == "online", "the node is back")
    events = await cluster.check_invariants()
    assert any(event.subject == "node1" for event in _of(events, "node.watchdog_fired"))


async def test_the_reply_to_every_append_may_get_lost(make: Make, proxy: Proxy) -> None:
    """An append whose reply is lost is repeated and written once, be it every single one of them."""
    proxy.lose_first_reply_to(scripts.APPEND.digest.encode())
    cluster = await make(urls=dict.fromkeys(("node1", "node2", "node3"), proxy.url), **PATIENT)
    outcome = await cluster.command("relocate", "process:a", "node3")
    assert outcome.text == "process:a is on node3"
    assert proxy.lost > 20
    proxy.lose_first_reply_to(None)
    events = await cluster.check_invariants()
    started = [event for event in _of(events, "job.done") if event.payload["state"] == "relocate"]
    assert len(started) == 1


async def test_a_disk_that_is_full_is_waited_out(make: Make, redis: RedisServer) -> None:
    """A server that cannot write its file refuses; nothing is lost, nobody is shot, and it goes on when there is room."""
    cluster = await make(**PATIENT)
    redis.fill_disk()
    async with asyncio.timeout(REST_LIMIT):
        while "MISCONF" not in (cluster.directory / "node2" / "agent.log").read_text():
            await asyncio.sleep(0.1)
    redis.free_disk()
    outcome = await cluster.command("relocate", "process:a", "node3")
    assert outcome.text == "process:a is on node3"
    events = await cluster.check_invariants()
    assert not _of(events, "node.fence")


async def test_a_request_nobody_can_read_is_answered_and_forgotten(make: Make, redis: RedisServer) -> None:
    """Whatever a user writes into his stream, the leader refuses it by name and goes on."""
    cluster = await make(**PATIENT)
    key = keys_of(cluster.name).side("commands:mallory")
    await _ask(redis, "SADD", keys_of(cluster.name).sides, "commands:mallory")
    await _ask(redis, "XADD", key, "*", "anything", b"\xff\x00")
    await _ask(redis, "XADD", key, "*", "verb", "migrate", "arguments", '["process:a"]')
    await _ask(redis, "XADD", key, "*", "verb", "configure", "arguments", '["process:a", "{\\"command\\": 7}"]')
    await cluster.until(lambda state: state.command_count >= 3 and not state.commands, "all are answered")
    events = await cluster.check_invariants()
    rejected = _of(events, "command.rejected")
    assert [event.payload["reason"] for event in rejected] == ["unusable", "unknown", "not_allowed"]


async def _ask(redis: RedisServer, *command: Any) -> Any:
    from redis import Redis  # noqa: PLC0415 - the plain client, beside ours

    with Redis(unix_socket_path=str(redis.socket)) as client:
        return client.execute_command(*command)


async def test_a_log_that_is_another_one_is_not_acted_upon(make: Make, redis: RedisServer) -> None:
    """When the server comes back empty nothing is started or stopped anew until an operator accepts that log."""
    cluster = await make()
    old = await _log_id(cluster)
    await _ask(redis, "FLUSHALL")
    # A process that is restarted writes the beginning of a new log; it knows that this is not the old one.
    await cluster.kill("manager", "node1")
    await cluster.start_one("manager", "node1")
    await cluster.until(lambda state: state.name == "chaos", "a new log has begun")
    assert await _log_id(cluster) != old
    await asyncio.sleep(2 * AGENT_LEASE)
    types = {event.type for event in await cluster.events()}
    assert not {type_ for type_ in types if type_.startswith(("manager.", "agent.", "leader.", "job."))}
    haes("log", "accept-regression", "--log", redis.url, "--cluster", cluster.name)
    await cluster.settle()
    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
    await cluster.check_invariants()


async def _log_id(cluster: LiveCluster) -> str:
    log = cluster.log()
    await log.open()
    try:
        return (await log.head()).log_id
    finally:
        await log.close()
