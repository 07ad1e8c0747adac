"""Minutes of random faults at ten times the normal pace; what must hold is checked all the while and at the end."""

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from events.envelope import Event
from events.errors import HaesError
from tests.chaos.cluster import AGENT_LEASE, LEADER_LEASE, LiveCluster
from tests.chaos.redis_server import RedisServer
from tests.events.proxy import Proxy

# Seconds that the faults go on; `make soak` sets ten minutes.
SECONDS = float(os.environ.get("HAES_SOAK_SECONDS", "90"))
SEED = int(os.environ.get("HAES_SOAK_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
REPORT = os.environ.get("HAES_SOAK_REPORT")
# Seconds between two faults at most: some meet a cluster at rest, some one that has not come to rest yet.
LONGEST_PAUSE = 3.0
# Seconds after the start of a process from which its memory may not grow any more, and by how much a minute.
WARM_UP = 120.0
GROWTH_LIMIT = 1 << 20
NODES = ("node1", "node2", "node3", "node4", "node5")
SERVICES = 10
TIMEOUT = SECONDS + 300

pytestmark = [pytest.mark.soak, pytest.mark.timeout(TIMEOUT)]


class Memory:
    """How much memory each process uses, over its life."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, int], list[tuple[float, int]]] = {}

    def look(self, cluster: LiveCluster) -> None:
        """Takes one sample of every process."""
        now = time.monotonic()
        for (part, node), process in cluster.processes.items():
            with suppress(psutil.Error):
                used = psutil.Process(process.pid).memory_info().rss
                self._samples.setdefault((f"{part} of {node}", process.pid), []).append((now, used))

    def growth(self) -> dict[str, float]:
        """Returns process -> bytes a minute that it grew by after it was warm, for those that lived on for a minute."""
        grown = {}
        for (name, pid), samples in self._samples.items():
            warm = [(at, used) for at, used in samples if at - samples[0][0] >= WARM_UP]
            if warm and warm[-1][0] - warm[0][0] >= 60.0:
                minutes = (warm[-1][0] - warm[0][0]) / 60.0
                grown[f"{name} ({pid})"] = (warm[-1][1] - warm[0][1]) / minutes
        return grown


class Faults:
    """The faults, one method each; what they broke they put right again."""

    def __init__(
        self, cluster: LiveCluster, redis: RedisServer, proxies: dict[str, Proxy], chance: random.Random
    ) -> None:
        self.cluster, self.redis, self.proxies, self.chance = cluster, redis, proxies, chance
        self.counts: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()

    async def one(self) -> None:
        """Lets one fault happen."""
        kinds = (
            *(
                self.kill_a_manager,
                self.pause_a_manager,
                self.kill_an_agent,
                self.pause_an_agent,
                self.cut_an_agent_off,
            ),
            *(
                self.restart_the_server,
                self.pause_the_server,
                self.replace_an_agent,
                self.kill_a_service,
                self.lose_a_reply,
            ),
            *([self.move_something] * 4),
        )
        fault = self.chance.choice(kinds)
        self.counts[fault.__name__] += 1
        await fault()

    async def kill_a_manager(self) -> None:
        """Kills a manager; it is started again after a while."""
        node = self.chance.choice(self.cluster.managers)
        await self.cluster.kill("manager", node)
        await asyncio.sleep(self.chance.uniform(0, 2 * LEADER_LEASE))
        await self.cluster.start_one("manager", node)

    async def pause_a_manager(self) -> None:
        """Freezes a manager, perhaps past its lease."""
        await self._pause("manager", self.chance.choice(self.cluster.managers), 2 * LEADER_LEASE)

    async def kill_an_agent(self) -> None:
        """Kills an agent; it is started again in time, or too late."""
        node = self.chance.choice(NODES)
        await self.cluster.kill("agent", node)
        await asyncio.sleep(self.chance.choice([0.0, 1.0, 2 * AGENT_LEASE]))
        await self.cluster.start_one("agent", node)

    async def pause_an_agent(self) -> None:
        """Freezes an agent, perhaps past its lease."""
        await self._pause("agent", self.chance.choice(NODES), 2 * AGENT_LEASE)

    async def cut_an_agent_off(self) -> None:
        """Lets nothing of what the server says reach a node, perhaps for longer than its lease."""
        proxy = self.proxies[self.chance.choice(NODES)]
        proxy.stall()
        await asyncio.sleep(self.chance.uniform(0.5, 2 * AGENT_LEASE))
        proxy.resume()
        proxy.cut()

    async def restart_the_server(self) -> None:
        """Kills the server and starts it again on its file."""
        await self.redis.kill()
        await asyncio.sleep(self.chance.uniform(0, AGENT_LEASE))
        await self.redis.start()

    async def pause_the_server(self) -> None:
        """Freezes the server, perhaps for longer than every lease."""
        self.redis.signal(signal.SIGSTOP)
        await asyncio.sleep(self.chance.uniform(0.5, 2 * AGENT_LEASE))
        self.redis.signal(signal.SIGCONT)

    async def replace_an_agent(self) -> None:
        """Restarts an agent in good order."""
        node = self.chance.choice(NODES)
        await self.cluster.leave("agent", node, seconds=20)
        await self.cluster.start_one("agent", node)

    async def kill_a_service(self) -> None:
        """Kills a service behind everybody's back."""
        found = [item for item in psutil.process_iter(["cmdline"]) if item.info["cmdline"] == ["sleep", "100000"]]
        if found:
            with suppress(psutil.Error):
                self.chance.choice(found).kill()

    async def lose_a_reply(self) -> None:
        """Swallows one reply of the server."""
        self.proxies[self.chance.choice(NODES)].drop_reply()

    async def move_something(self) -> None:
        """Asks for a motion, as an operator does."""
        service = f"process:{self.chance.randrange(SERVICES)}"
        with suppress(HaesError, AssertionError):
            outcome = await self.cluster.command("relocate", service, self.chance.choice(NODES), seconds=20)
            self.answers[outcome.end.value] += 1

    async def _pause(self, part: str, node: str, longest: float) -> None:
        self.cluster.signal(part, node, signal.SIGSTOP)
        await asyncio.sleep(self.chance.uniform(0.5, longest))
        self.cluster.signal(part, node, signal.SIGCONT)


@pytest.fixture
async def proxies(redis: RedisServer) -> AsyncIterator[dict[str, Proxy]]:
    """Provides a way to the server for each node."""
    proxies = {node: Proxy(str(redis.socket)) for node in NODES}
    for proxy in proxies.values():
        await proxy.start()
    try:
        yield proxies
    finally:
        for proxy in proxies.values():
            await proxy.stop()


async def test_nothing_gives_way_under_random_faults(
    tmp_path: Path, redis: RedisServer, proxies: dict[str, Proxy]
) -> None:
    """After minutes of faults everything runs, nothing ever ran twice, nothing is lost, and no process grows."""
    chance, memory = random.Random(SEED), Memory()  # noqa: S311 - a seed that can be given again is the point
    cluster = LiveCluster(
        tmp_path,
        redis.url,
        nodes=NODES,
        services={f"process:{number}": NODES[number % len(NODES)] for number in range(SERVICES)},
        urls={node: proxy.url for node, proxy in proxies.items()},
    )
    faults = Faults(cluster, redis, proxies, chance)
    print(f"soak of {SECONDS:.0f} s with seed {SEED}")  # noqa: T201 - to be able to do it again
    try:
        await cluster.start()
        await cluster.settle()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            await faults.one()
            memory.look(cluster)
            assert not cluster.double.exists(), f"seed {SEED}: a service ran twice: {cluster.double.read_text()}"
            await asyncio.sleep(chance.uniform(0, LONGEST_PAUSE))
        for part, node in list(cluster.processes):
            if cluster.processes[part, node].returncode is not None:
                raise AssertionError(
                    f"seed {SEED}: {part} of {node} ended by itself\n{cluster.describe(await cluster.state())}"
                )
        await cluster.settle(90)
        events = await cluster.check_invariants()
        growth = memory.growth()
        report = _report(events, faults, growth)
        print(json.dumps(report, indent=2))  # noqa: T201 - the summary is what a soak is for
        if REPORT:
            Path(REPORT).write_text(json.dumps(report, indent=2) + "\n")
        assert not {name: grown for name, grown in growth.items() if grown >= GROWTH_LIMIT}
    finally:
        await cluster.destroy()


def _report(events: list[Event], faults: Faults, growth: dict[str, float]) -> dict[str, object]:
    types = Counter(event.type for event in events)
    return {
        "seconds": SECONDS,
        "seed": SEED,
        "events": len(events),
        "faults": dict(sorted(faults.counts.items())),
        "answers to commands": dict(sorted(faults.answers.items())),
        "leaders": types["leader.elected"],
        "fenced nodes": types["node.fenced"],
        "watchdogs that fired": types["node.watchdog_fired"],
        "recoveries": types["resource.recovered"],
        "starts": types["job.running"],
        "motions": types["job.moved"],
        "violated invariants": 0,
        "largest growth of a process, bytes a minute": round(max(growth.values(), default=0.0)),
        "processes whose growth was measured": len(growth),
    }
