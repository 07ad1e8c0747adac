"""A live cluster's log answers what other settings would have done, through the command that people use."""

import asyncio
import json
from pathlib import Path

from events.embedded import EmbeddedRedis
from events.log.redis import RedisLog
from haes.telemetry import STREAM, taken_at
from tests.cli.running import haes
from tests.live.world import LIMIT, World


async def test_the_recording_of_a_live_cluster_is_played(server: EmbeddedRedis, tmp_path: Path) -> None:
    """Real workers on a real server leave behind what the command needs: it plays it and counts both stories."""
    log = RedisLog(server.url, "main")
    await log.open()
    world = World(tmp_path, {"vm:1": "node1", "vm:2": "node2"}, settings={"ha": "dynamic"}, log=log)
    try:
        await world.all()
        assert (await world.command("migrate", "vm:1", "node3")).text == "vm:1 is on node3"
        async with asyncio.timeout(LIMIT):
            while not (known := await log.side.read_all(STREAM)) or taken_at(known[-1]) - taken_at(known[0]) < 2:
                await asyncio.sleep(0.05)
    finally:
        await world.end()
        await log.close()
    options = ("--log", server.url, "--cluster", "main")
    said, _ = await asyncio.to_thread(haes, "whatif", "--set", "ha-auto-rebalance=1", "--json", *options)
    answer = json.loads(said)
    assert answer["really"] == {"motions": 0, "failed": 0}
    assert answer["leaves"] is None
    assert answer["played"]["until"] > answer["played"]["from"]
    text, _ = await asyncio.to_thread(haes, "whatif", "--set", "ha-auto-rebalance=1", *options)
    assert text.startswith("Played from 20")
