"""What a user is told who asks a running cluster for something: real processes, a real server, commands as typed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.embedded import EmbeddedRedis
from tests.chaos.cluster import LiveCluster
from tests.cli.running import haes


@pytest.fixture
async def cluster(server: EmbeddedRedis, tmp_path: Path) -> AsyncIterator[LiveCluster]:
    """Provides a cluster of two nodes with a service, which runs."""
    cluster = LiveCluster(tmp_path, server.url, nodes=("node1", "node2"), managers=("node1",))
    cluster.services = {"process:a": "node1"}
    try:
        await cluster.start()
        await cluster.settle()
        yield cluster
    finally:
        await cluster.destroy()


async def _asked(cluster: LiveCluster, *words: str, status: int = 0) -> tuple[str, str]:
    options = ("--log", cluster.url, "--cluster", cluster.name)
    return await asyncio.to_thread(lambda: haes(*words, *options, status=status))


async def test_a_command_ends_with_its_answer(cluster: LiveCluster) -> None:
    """What is refused ends with status 1 and the reason, what is taken says so in words, with nothing else asked."""
    for words, reason in (
        (("migrate", "process:a", "node9"), "refused: there is no node 'node9'; known are node1, node2\n"),
        (("migrate", "process:b", "node2"), "refused: there is no resource 'process:b' in this cluster\n"),
        (("set", "process:a", "state=banana"), "refused: process:a: 'state' cannot be 'banana'"),
        (("add", "process:b", "node=node1", "command=true", "color=red"), "refused: process:b: unknown key 'color'"),
    ):
        output, error = await _asked(cluster, *words, status=1)
        assert output == ""
        assert error.startswith(reason), error
    before = [event for event in await cluster.events() if event.type == "command.received"]
    # What is known beforehand is not even asked for.
    assert before == []
    assert await _asked(cluster, "stop", "process:a") == ("taken: process:a is to be stopped\n", "")
    assert await _asked(cluster, "stop", "process:a", "--wait") == ("process:a is stopped\n", "")
    assert await _asked(cluster, "start", "process:a", "--wait") == ("process:a runs on node1\n", "")
    assert await _asked(cluster, "settings", "set", "ha=static") == ("the settings are changed\n", "")
    assert await _asked(cluster, "arm") == ("nothing to do: HA is in action already\n", "")
    assert (await _asked(cluster, "node", "remove", "node2", status=1))[1] == (
        "refused: node 'node2' is online; stop its agent first\n"
    )
    assert await _asked(cluster, "migrate", "process:a", "node2", "--wait") == ("process:a is on node2\n", "")


async def test_without_a_leader_the_answer_says_so(cluster: LiveCluster) -> None:
    """A command that no manager can answer ends at once with status 1, stays asked for, and is carried out later."""
    await cluster.leave("manager", "node1")
    output, error = await _asked(cluster, "stop", "process:a", status=1)
    assert output == ""
    assert error.startswith("asked for, but no manager leads; it stays asked for"), error
    assert "waiting: configure process:a" in (await _asked(cluster, "status"))[0]
    # With something on its way nothing else is refused beforehand: it may be about what that brings.
    assert "asked for" in (await _asked(cluster, "migrate", "process:new", "node2", "--no-wait"))[0]
    await cluster.start_one("manager", "node1")
    await cluster.until(lambda state: state.resources["process:a"].state == "stopped", "it is stopped")


async def test_waiting_ends_with_the_truth(cluster: LiveCluster) -> None:
    """A service that cannot be started, or ends soon after, is no success of whoever waits for it."""
    values = ("node=node1", "max_restart=0", "max_relocate=0")
    _, error = await _asked(cluster, "add", "process:x", *values, "command=/no/such/program", "--wait", status=1)
    assert error.startswith("process:x ended by itself on node1: '/no/such/program' cannot be run (")
    _, error = await _asked(
        cluster, "add", "process:y", *values, 'command=["sh", "-c", "sleep 2; exit 3"]', "--wait", status=1
    )
    assert "process:y" in error
