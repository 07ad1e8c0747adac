"""A stream that is lost, in each of the ways in which streams get lost, and the way back while all processes live."""

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from events.envelope import Event
from tests.chaos.cluster import LiveCluster
from tests.chaos.redis_server import RedisServer
from tests.cli.running import haes

pytestmark = pytest.mark.chaos

Make = Callable[..., Awaitable[LiveCluster]]
# Seconds: longer than a person, or a test on a busy machine, takes to restore a log.
LEASE = 60.0


def _of(events: list[Event], type_: str) -> list[Event]:
    return [event for event in events if event.type == type_]


def _processes(cluster: LiveCluster) -> dict[str, tuple[str, int]]:
    """Returns service -> node and process, as the keepers have them."""
    found = {}
    for node in cluster.nodes:
        data: dict[str, Any] = json.loads((cluster.directory / node / "keeper.state").read_text())
        for name, fence in data["services"].items():
            os.kill(fence["session"], 0)
            assert name not in found, f"{name} runs on {found[name][0]} and on {node}"
            found[name] = (node, fence["session"])
    return found


async def _moved(make: Make) -> LiveCluster:
    """Provides a cluster in which a service is not where it was first."""
    cluster = await make(agent_lease=LEASE)
    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
    return cluster


async def _check_goes_on(cluster: LiveCluster, before: dict[str, tuple[str, int]]) -> list[Event]:
    """Checks that the very processes of before run, and that the cluster obeys; returns the stream."""
    await cluster.until_event(lambda event: event.type in {"log.restored", "log.regressed"}, "the loss is on record")
    wanted = {name: node for name, (node, _) in before.items()}
    await cluster.until(
        lambda state: cluster.at_rest(state) and {name: item.node for name, item in state.resources.items()} == wanted,
        "every service is on record where it runs",
    )
    assert _processes(cluster) == before
    assert (await cluster.command("relocate", "process:b", "node1")).text == "process:b is on node1"
    assert _processes(cluster)["process:a"] == before["process:a"]
    return await cluster.check_invariants()


async def test_a_server_that_was_flushed(make: Make, redis: RedisServer, tmp_path: Path) -> None:
    """An older copy of the file brings the log back; no service stops, and everybody goes on under new rights."""
    cluster = await _moved(make)
    before, head = _processes(cluster), await cluster.head()
    copy = RedisServer(tmp_path / "copy")
    shutil.copytree(redis.folder, copy.folder, ignore=shutil.ignore_patterns("*.sock", "*.log"))
    await copy.start()
    try:
        with Redis(unix_socket_path=str(redis.socket)) as client:
            client.flushall()
        words = ("log", "restore", "--from", copy.url, "--log", redis.url, "--cluster", cluster.name)
        assert "nothing was changed" in haes(*words)[0]
        haes(*words, "--yes")
    finally:
        await copy.kill()
    events = await _check_goes_on(cluster, before)
    [restored] = _of(events, "log.restored")
    assert restored.payload["n"] >= head.n
    assert restored.payload["generation"] > head.generation


async def test_a_server_that_lost_its_stream_and_has_requests(make: Make, redis: RedisServer, tmp_path: Path) -> None:
    """What users ask for while nobody leads waits on the server, and is carried out once the log is back."""
    archive = tmp_path / "archive"
    cluster = await _moved(make)
    before, words = _processes(cluster), ("--log", redis.url, "--cluster", cluster.name)
    for node in cluster.managers:
        await cluster.leave("manager", node)
    haes("archive", "write", archive, *words)
    with Redis(unix_socket_path=str(redis.socket)) as client:
        client.delete("haes:{chaos}:events", "haes:{chaos}:snapshot")
        client.sadd("haes:{chaos}:sides", "commands:alice")
        client.xadd("haes:{chaos}:commands:alice", {"verb": "relocate", "arguments": '["process:b", "node3"]'})
    said, _ = haes("log", "restore", "--archive", archive, "--yes", *words)
    assert "kept: 1 requests of alice" in said
    for node in cluster.managers:
        await cluster.start_one("manager", node)
    await cluster.until(
        lambda state: cluster.at_rest(state) and state.resources["process:b"].node == "node3", "the request is obeyed"
    )
    assert _processes(cluster)["process:a"] == before["process:a"]
    await cluster.check_invariants()


async def test_a_file_that_is_older_than_what_runs(make: Make, redis: RedisServer) -> None:
    """An older file is put back: what moved since is found where it runs, and not a process of a service ends."""
    cluster = await make(agent_lease=LEASE)
    redis.copy_file()
    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
    before = _processes(cluster)
    await redis.kill()
    redis.restore_file()
    await redis.start()
    events = await _check_goes_on(cluster, before)
    [found] = _of(events, "resource.found")
    assert (found.subject, found.payload["node"]) == ("process:a", "node3")
    assert not _of(events, "resource.stray_stopped")
