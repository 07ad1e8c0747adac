"""The printed rights are enough for each kind of user, and no more; on every server that is here."""

import asyncio
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError, ResponseError

from events.embedded import EmbeddedRedis
from events.errors import UserError
from events.log.redis import RedisLog
from events.log.redis_keys import keys_of
from haes.live.outcome import End
from haes.state.batch import Batch
from tests.chaos.cluster import LiveCluster
from tests.cli.running import haes
from tests.servers import EVERY_SERVER

# What operators may write is a selector, and rights per key are as new: Redis 7.
pytestmark = pytest.mark.parametrize("server", EVERY_SERVER, indirect=True)

CLUSTER = "chaos"
KEYS = keys_of(CLUSTER)


@pytest.fixture
def server(server: EmbeddedRedis) -> EmbeddedRedis:
    """Provides the server with a user of each kind."""
    with Redis(unix_socket_path=server.socket) as client:
        for role, user in (("manager", "boss"), ("agent", "worker"), ("operator", "alice"), ("auditor", "carl")):
            line = haes("acl", role, "--cluster", CLUSTER, "--user", user)[0].strip()
            client.execute_command(*line.replace(">PASSWORD", ">secret").split())
    return server


def _url(server: EmbeddedRedis, user: str) -> str:
    return f"unix://{user}:secret@{server.socket}"


async def test_a_cluster_lives_with_exactly_these_rights(server: EmbeddedRedis, tmp_path: Path) -> None:
    """Managers and agents work, an operator is served, an auditor reads; none of them is anybody else."""
    cluster = LiveCluster(tmp_path, _url(server, "boss"), nodes=("node1", "node2"), managers=("node3",))
    cluster.services = {"process:a": "node1"}
    cluster.urls = {"node1": _url(server, "worker"), "node2": _url(server, "worker"), "node3": _url(server, "boss")}
    try:
        await cluster.start()
        await cluster.settle()
        cluster.url = _url(server, "alice")
        outcome = await cluster.command("relocate", "process:a", "node2", user="alice")
        assert outcome.end is End.DONE
        options = ("--log", _url(server, "carl"), "--cluster", CLUSTER)
        assert "0 findings" in await asyncio.to_thread(lambda: haes("verify", *options)[0])
        assert "process:a" in await asyncio.to_thread(lambda: haes("status", *options)[0])
        assert "alice" in await asyncio.to_thread(lambda: haes("audit", "report", *options)[0])
    finally:
        await cluster.destroy()


@pytest.mark.parametrize("user", ["alice", "carl"])
async def test_readers_cannot_write(server: EmbeddedRedis, user: str) -> None:
    """Operators and auditors cannot append, take a lease, or touch any key of the log."""
    owner = RedisLog(server.url, CLUSTER)
    await owner.open()
    log = RedisLog(_url(server, user), CLUSTER)
    await log.open()
    batch = Batch(None, "mallory", 1)
    batch.emit("node.added", "node9")
    token = await owner.acquire("test", "test")
    with pytest.raises(UserError, match="refuses the user"):
        await log.append(batch.events, token=token)
    with pytest.raises(UserError, match="refuses the user"):
        await log.acquire("leader", "mallory")
    with Redis(unix_socket_path=server.socket, username=user, password="secret") as client:
        for command in (
            ("XADD", KEYS.events, "*", "a", "b"),
            ("HSET", KEYS.head, "n", "0"),
            ("DEL", KEYS.events),
            ("XTRIM", KEYS.events, "MAXLEN", "0"),
            ("XADD", KEYS.side("commands:bob"), "*", "verb", "stop"),
            ("XADD", KEYS.side("telemetry"), "*", "node", "x"),
            ("EVAL", "return redis.call('DEL', KEYS[1])", "1", KEYS.events),
            ("FLUSHALL",),
            ("CONFIG", "SET", "appendonly", "no"),
        ):
            with pytest.raises((NoPermissionError, ResponseError), match=r"NOPERM|permission"):
                client.execute_command(*command)
    await log.close()
    await owner.close()


async def test_an_agent_cannot_speak_for_operators_or_touch_others(server: EmbeddedRedis) -> None:
    """An agent's user has no way to ask for anything in an operator's name, nor into other clusters."""
    with Redis(unix_socket_path=server.socket, username="worker", password="secret") as client:
        for command in (
            ("XADD", KEYS.side("commands:alice"), "*", "verb", "stop"),
            ("HSET", KEYS.snapshot, "1", "x"),
            ("XADD", "haes:{other}:events", "*", "a", "b"),
            ("ACL", "SETUSER", "worker", "allkeys"),
        ):
            with pytest.raises((NoPermissionError, ResponseError), match=r"NOPERM|permission"):
                client.execute_command(*command)
