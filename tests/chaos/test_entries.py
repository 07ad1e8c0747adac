"""What stands on the stream that should not, and clocks that are wrong."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest
from redis import Redis

from events.log.redis_keys import keys_of
from tests.chaos.cluster import ANSWER_LIMIT, PATIENT, TEST_LIMIT, LiveCluster
from tests.chaos.redis_server import RedisServer
from tests.cli.running import haes

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(TEST_LIMIT)]

Make = Callable[..., Awaitable[LiveCluster]]
# A time stamp from long after anything that a test does, as a damaged clock would write it.
_AHEAD = """\
import time
_now = time.time
time.time = lambda: _now() + 3600
time.time_ns = lambda: int(time.time() * 1e9)
"""


def _ask(redis: RedisServer, *command: Any) -> Any:
    with Redis(unix_socket_path=str(redis.socket)) as client:
        return client.execute_command(*command)


def _append_by_hand(redis: RedisServer, cluster: LiveCluster, type_: str, subject: str, data: bytes) -> int:
    """Writes an event as a program would that keeps all the rules, but speaks another language."""
    keys = keys_of(cluster.name)
    with Redis(unix_socket_path=str(redis.socket)) as client:
        with client.pipeline(transaction=True) as pipe:
            pipe.watch(keys.head)
            n = int(pipe.hget(keys.head, "n")) + 1
            last = pipe.hget(keys.head, "last_id").decode()
            entry = f"{last.partition('-')[0]}-{n}"
            pipe.multi()
            fields = {"n": n, "type": type_, "subject": subject, "by": "node9/crm", "at": 1, "epoch": 1, "about": ""}
            pipe.xadd(keys.events, {**fields, "data": data}, id=entry)
            pipe.hset(keys.head, mapping={"n": n, "last_id": entry})
            pipe.hincrby(keys.versions, subject, 1)
            pipe.execute()
        return n


async def test_an_entry_that_is_no_event_harms_nobody(make: Make, redis: RedisServer) -> None:
    """Something written into the stream by hand is named as foreign by everybody, and everything goes on."""
    cluster = await make(**PATIENT)
    _ask(redis, "XADD", keys_of(cluster.name).events, "*", "hello", "world")
    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
    for part, node in cluster.processes:
        parked = (await cluster.believed(part, node))["parked"]
        assert isinstance(parked, dict)
        assert [name.partition(" ")[0] for name in parked] == ["entry"]
    events = await cluster.check_invariants(allowed=["entries"])
    assert events
    said, _ = haes("status", "--check", "--log", redis.url, "--cluster", cluster.name, status=1)
    assert "is parked since event" in said


async def test_a_damaged_event_parks_its_subject_alone(make: Make, redis: RedisServer) -> None:
    """An event whose data cannot be read parks the resource that it is about; the other one still moves."""
    cluster = await make(**PATIENT)
    _append_by_hand(redis, cluster, "resource.configured", "process:a", b"\xc1poison")
    assert (await cluster.command("relocate", "process:b", "node3")).text == "process:b is on node3"
    said, _ = haes("parked", "list", "--log", redis.url, "--cluster", cluster.name)
    assert "process:a" in said
    haes("parked", "skip", "process:a", "--log", redis.url, "--cluster", cluster.name)
    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
    await cluster.check_invariants(allowed=["entries"])


async def test_an_event_from_the_future_makes_managers_decline(make: Make, redis: RedisServer) -> None:
    """A manager that is too old for what is on the stream does not lead, says so, and leads again when told to."""
    cluster = await make(agent_lease=PATIENT["agent_lease"])
    data = msgpack.packb([1, False, None, None, {"text": "beam me up"}])
    n = _append_by_hand(redis, cluster, "resource.teleported", "process:a", data)
    for node in cluster.managers:
        await cluster.until_event(
            lambda event, node=node: event.type == "manager.declined" and event.subject == node, f"{node} declines"
        )
    said, _ = haes("status", "--check", "--log", redis.url, "--cluster", cluster.name, status=1)
    assert "no manager leads" in said
    assert "resource.teleported" in said
    haes("parked", "skip", "process:a", "--log", redis.url, "--cluster", cluster.name)
    elected = await cluster.until_event(
        lambda event: event.type == "leader.elected" and event.n > n, "somebody leads again"
    )
    assert elected.n > n
    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
    await cluster.check_invariants(allowed=["entries"])


async def test_a_clock_that_is_an_hour_ahead_changes_nothing(make: Make, tmp_path: Path) -> None:
    """No decision and no lease depends on the time of day of any machine but the server's."""
    folder = tmp_path / "ahead"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_AHEAD)
    cluster = await make(environment={"node1": {"PYTHONPATH": str(folder)}}, agent_lease=PATIENT["agent_lease"])
    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
    await cluster.kill("manager", "node2")
    await cluster.until(lambda state: state.leader == "node1", "the one that is ahead leads")
    assert (await cluster.command("relocate", "process:a", "node1")).text == "process:a is on node1"
    events = await cluster.check_invariants()
    times = [event.at for event in events]
    assert max(times) - min(times) < 600
    assert not [event for event in events if event.type in {"node.unknown", "node.watchdog_fired"}]


async def test_a_managers_reload_keeps_it_running(make: Make) -> None:
    """SIGHUP reads the configuration again; a broken file is refused and changes nothing."""
    cluster = await make(**PATIENT)
    file = cluster.folder / "cluster.toml"
    good = file.read_text()
    file.write_text(good.replace("round = 1.0", 'round = "soon"', 1))
    await cluster.ready("manager", "node1")
    cluster.signal("manager", "node1", signal.SIGHUP)
    log = cluster.directory / "node1" / "manager.log"
    # Before that the next file may be the one that is read.
    async with asyncio.timeout(ANSWER_LIMIT):
        while "the configuration stays as it was" not in log.read_text():
            await asyncio.sleep(0.05)
    file.write_text(good.replace("agent_round = 0.5", "agent_round = 0.4"))
    cluster.signal("agent", "node1", signal.SIGHUP)
    assert (await cluster.command("relocate", "process:a", "node3")).text == "process:a is on node3"
    assert "the configuration stays as it was" in log.read_text()
    await cluster.check_invariants()
