"""Servers that move: a master that Sentinels replace, and the keys of a cluster of servers."""

import asyncio
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from events.errors import HaesError, LogUnavailable
from events.log.redis import RedisLog
from events.programs import find_program
from haes.state.batch import Batch
from tests.chaos.cluster import REST_LIMIT, TEST_LIMIT, LiveCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(TEST_LIMIT)]

LIMIT = 40.0
_SENTINEL = """\
port {port}
sentinel monitor main 127.0.0.1 {master} 2
sentinel down-after-milliseconds main 1000
sentinel failover-timeout main 5000
"""


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


class Servers:
    """Several servers, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = find_program(folder)
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, port: int, *words: str, configuration: str = "") -> None:
        """Starts one."""
        folder = self._folder / str(port)
        folder.mkdir(exist_ok=True)
        (folder / "server.conf").write_text(configuration or f"port {port}\n")
        with (folder / "server.log").open("ab") as said:
            self.processes[port] = subprocess.Popen(
                [self._program, "server.conf", *words], cwd=folder, stdout=said, stderr=said, start_new_session=True
            )

    def kill(self, port: int) -> None:
        """Kills one."""
        process = self.processes.pop(port)
        process.kill()
        process.wait()


@pytest.fixture
def servers(tmp_path: Path) -> Any:
    """Provides servers that all end with the test."""
    servers = Servers(tmp_path)
    yield servers
    for port in list(servers.processes):
        servers.kill(port)


async def _until(holds: Callable[[], object], what: str) -> None:
    try:
        async with asyncio.timeout(LIMIT):
            while True:
                with suppress(Exception):
                    if holds():
                        return
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within {LIMIT:g} s: {what}") from None


def _ask(port: int, *command: object) -> Any:
    with Redis(port=port, socket_timeout=2) as client:
        return client.execute_command(*command)  # type: ignore[arg-type]


@pytest.fixture
async def sentinels(servers: Servers) -> tuple[str, int, int]:
    """Provides a master and a replica that three Sentinels watch: (URL, port of the master, port of the replica)."""
    master, replica, *watchers = _free_ports(5)
    servers.start(master, "--appendonly", "yes", "--save", "")
    servers.start(replica, "--replicaof", "127.0.0.1", str(master), "--appendonly", "yes", "--save", "")
    await _until(lambda: _ask(master, "ROLE")[2], "the replica follows")
    for port in watchers:
        servers.start(port, "--sentinel", configuration=_SENTINEL.format(port=port, master=master))
    for port in watchers:
        await _until(
            lambda port=port: len(_ask(port, "SENTINEL", "sentinels", "main")) == 2, "Sentinels know each other"
        )
        await _until(lambda port=port: len(_ask(port, "SENTINEL", "replicas", "main")) == 1, "they know the replica")
    return "redis+sentinel://" + ",".join(f"127.0.0.1:{port}" for port in watchers) + "/main", master, replica


async def _append(log: RedisLog, token: Any, node: str, command: str) -> None:
    batch = Batch(None, "test", 1)
    batch.emit("node.added", node)
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                await log.append(batch.events, token=token, command=command)
            except LogUnavailable:
                await asyncio.sleep(0.1)
            else:
                return


async def test_a_log_goes_on_on_the_new_master(servers: Servers, sentinels: tuple[str, int, int]) -> None:
    """When the master dies, appends wait for the next one and go on there: same log, no number missing or twice."""
    url, master, _replica = sentinels
    log = RedisLog(url, "test", durability="replicas:1")
    await log.open()
    token = await log.acquire("test", "test")
    for number in range(20):
        await _append(log, token, f"node{number}", f"before{number}")
    log_id = (await log.head()).log_id
    servers.kill(master)
    after = RedisLog(url, "test")
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                await after.open()
                break
            except HaesError:
                await asyncio.sleep(0.2)
    for number in range(20):
        await _append(after, token, f"node{20 + number}", f"after{number}")
    events = [event async for event in after.read_all()]
    assert [event.n for event in events] == list(range(1, 41))
    assert [event.subject for event in events] == [f"node{number}" for number in range(40)]
    assert (await after.head()).log_id == log_id
    await log.close()
    await after.close()


async def test_an_append_that_too_few_have_is_not_done(servers: Servers, sentinels: tuple[str, int, int]) -> None:
    """With replicas:1 an append counts as done only when a replica has it; it is in the log once all the same."""
    url, _master, replica = sentinels
    log = RedisLog(url, "test", durability="replicas:1")
    await log.open()
    token = await log.acquire("test", "test")
    await _append(log, token, "node1", "one")
    servers.processes[replica].send_signal(19)
    batch = Batch(None, "test", 1)
    batch.emit("node.added", "node2")
    with pytest.raises(LogUnavailable, match="0 of 1 replicas have it"):
        await log.append(batch.events, token=token, command="two")
    servers.processes[replica].send_signal(18)
    await _append(log, token, "node2", "two")
    assert [event.subject async for event in log.read_all()] == ["node1", "node2"]
    await log.close()


async def test_a_live_cluster_outlives_its_master(
    servers: Servers, sentinels: tuple[str, int, int], tmp_path: Path
) -> None:
    """Managers and agents find the new master by themselves; nothing is fenced, nothing runs twice."""
    url, master, _replica = sentinels
    cluster = LiveCluster(tmp_path, url, agent_lease=10.0)
    try:
        await cluster.start()
        await cluster.settle()
        servers.kill(master)
        await asyncio.sleep(1.0)
        async with asyncio.timeout(REST_LIMIT):
            while True:
                try:
                    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
                    break
                except HaesError:
                    await asyncio.sleep(0.2)
        await cluster.settle()
        events = await cluster.check_invariants()
        assert not [event for event in events if event.type == "node.fence"]
    finally:
        await cluster.destroy()


async def test_a_cluster_of_servers_is_searched_for_the_keys(servers: Servers) -> None:
    """With Redis Cluster a log finds the server that has its keys, and each cluster of ours may be on another one."""
    ports = _free_ports(3)
    while any(port > 55000 for port in ports):
        # A server's bus listens 10000 above its port.
        ports = [20000 + (port % 20000) for port in ports]
    for port in ports:
        servers.start(port, "--cluster-enabled", "yes", "--save", "")
    for index, port in enumerate(ports):
        await _until(lambda port=port: _ask(port, "PING"), "the server is there")
        first, last = 16384 * index // 3, 16384 * (index + 1) // 3
        _ask(port, "CLUSTER", "ADDSLOTS", *range(first, last))
    for port in ports[1:]:
        _ask(ports[0], "CLUSTER", "MEET", "127.0.0.1", port)
    for port in ports:
        await _until(
            lambda port=port: (
                b"cluster_state:ok" in _ask(port, "CLUSTER", "INFO")
                or "ok" in str(_ask(port, "CLUSTER", "INFO").get("cluster_state"))
            ),
            "the cluster is whole",
        )
    url = "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)
    for name in ("alpha", "beta", "gamma", "delta"):
        log = RedisLog(url, name)
        await log.open()
        token = await log.acquire("test", "test")
        await _append(log, token, "node1", "one")
        await log.side.add("telemetry", {"node": "node1"}, keep=10)
        assert [event.subject async for event in log.read_all()] == ["node1"]
        assert await log.side.names("telemetry") == ["telemetry"]
        await log.close()
    counts = [sum(b"events" in key for key in _ask(port, "KEYS", "*")) for port in ports]
    assert sum(counts) == 4
