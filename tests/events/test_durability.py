"""With durability `fsync` an append is done when it is on disk; who cannot prove that says so before anything is written."""

from typing import Any

import pytest
from redis import Redis

from events.embedded import EmbeddedRedis
from events.errors import LogUnavailable, UserError
from events.log.durability import FSYNC
from events.log.redis import RedisLog
from tests.cli.running import haes
from tests.events.hands import RedisHands
from tests.events.kinds import happened
from tests.servers import BUNDLED, EVERY_SERVER, MACHINE

bundled = pytest.mark.parametrize("server", [BUNDLED], indirect=True)


def _of_aof(server: EmbeddedRedis, name: str) -> Any:
    with Redis(unix_socket_path=server.socket) as client:
        return client.info("persistence")[name]


@bundled
async def test_an_append_is_on_disk_when_it_is_done(server: EmbeddedRedis) -> None:
    """After each append nothing of it waits for the disk, although the server writes its file through once a second."""
    log = RedisLog(server.url, "test", durability=FSYNC)
    await log.open()
    token = await log.acquire("leader", "node1")
    for _ in range(2):
        await log.append([happened()], token=token)
        assert _of_aof(server, "aof_pending_bio_fsync") == 0
        assert _of_aof(server, "aof_buffer_length") == 0
        [local, _replicas] = await RedisHands(log).ask("WAITAOF", "1", "0", "1")
        assert local == 1
    assert (await log.head()).n == 2
    await log.close()


@bundled
async def test_what_is_not_on_disk_is_not_done(server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append that the disk has not taken in time is in the log, but counts as not done; repeating it is safe."""
    monkeypatch.setattr("events.log.durability.PROOF_LIMIT", 1)
    log = RedisLog(server.url, "test", durability=FSYNC)
    await log.open()
    token = await log.acquire("leader", "node1")
    # The server that never writes its file through cannot have it on disk.
    await RedisHands(log).ask("CONFIG SET", "appendfsync", "no")
    with pytest.raises(LogUnavailable, match="event 1 is written, but it is not on disk yet"):
        await log.append([happened()], token=token, command="one")
    await RedisHands(log).ask("CONFIG SET", "appendfsync", "always")
    monkeypatch.setattr("events.log.durability.PROOF_LIMIT", 2000)
    assert (await log.append([happened()], token=token, command="one")).repeated
    assert (await log.head()).n == 1
    await log.close()


@pytest.mark.parametrize("server", [param for param in EVERY_SERVER if param.values == (MACHINE,)], indirect=True)
async def test_a_server_too_old_for_it_is_refused(server: EmbeddedRedis) -> None:
    """A server that cannot say what is on disk is refused by version, before the log is used."""
    with Redis(unix_socket_path=server.socket) as client:
        version = client.info("server")["redis_version"]
    log = RedisLog(server.url, "test", durability=FSYNC)
    if tuple(map(int, version.split(".")[:2])) >= (7, 2):
        pytest.skip(f"the server of the machine is {version}, which can say what is on disk")
    with pytest.raises(UserError, match=rf"needs Redis 7\.2 or newer, the server is {version}"):
        await log.open()


@bundled
async def test_a_server_without_a_file_is_refused(server: EmbeddedRedis) -> None:
    """A server that keeps no append-only file cannot have anything on disk, and is refused when the log is opened."""
    with Redis(unix_socket_path=server.socket) as client:
        client.config_set("appendonly", "no")
    with pytest.raises(UserError, match="durability 'fsync' needs an append-only file"):
        await RedisLog(server.url, "test", durability=FSYNC).open()


@bundled
@pytest.mark.parametrize("role", ["manager", "agent"])
async def test_the_printed_rights_are_enough(server: EmbeddedRedis, role: str) -> None:
    """Who appends with `fsync` has the right to ask for the proof, once the rights were printed for it."""
    line = haes("acl", role, "--cluster", "test", "--user", "worker", "--durability", FSYNC)[0].strip()
    first = RedisLog(server.url, "test")
    await first.open()
    await first.close()
    with Redis(unix_socket_path=server.socket) as client:
        client.execute_command(*line.replace(">PASSWORD", ">secret").split())
    log = RedisLog(f"unix://worker:secret@{server.socket}", "test", durability=FSYNC)
    await log.open()
    await log.append([happened()], token=await log.acquire("leader", "node1"))
    await log.close()
