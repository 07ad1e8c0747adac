"""Records the streams of this version as golden files: `python -m tests.golden.release`; does nothing when they exist.

A release is a program's version together with the version of its decisions. Its streams are two simulated stories and a
live one with the samples of load beside it, and the states that they lead to. They are never edited, only added to.
"""

import asyncio
import base64
import hashlib
import json
import tempfile
from pathlib import Path

from events.archive import write_segment
from events.log.memory import MemoryLog
from events.log.side import SideEntry
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from haes.state.fold import fold
from haes.telemetry import STREAM
from haes.version import POLICY_VERSION, PROGRAM_VERSION
from tests.golden.stored import RELEASES
from tests.live.world import World

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "data"
SETTINGS = {
    "fa109": ["ha-auto-rebalance-backoff=series"],
    "test-memory-21-027": ["ha-auto-rebalance-backoff=time"],
    "test-failover-11-128": [],
}
# The balancer of the live story: it moves something as soon as it can.
LIVE: dict[str, object] = {
    "ha": "dynamic",
    "ha-auto-rebalance": 0,
    "ha-auto-rebalance-threshold": 5,
    "ha-auto-rebalance-hold-duration": 1,
    "ha-load-average-window": 1,
}
SECONDS = 4.0


async def record(folder: Path) -> None:
    """Writes the files of this release."""
    for name, overrides in SETTINGS.items():
        log = MemoryLog(name)
        await simulate(load_scenario(SCENARIOS / name, overrides), log, lambda _event: None)
        await _write(log, folder, name)
    with tempfile.TemporaryDirectory() as place:
        world = World(Path(place), dict.fromkeys(("vm:1", "vm:2", "vm:3", "vm:4", "vm:5"), "node1"))
        world.settings = LIVE
        try:
            await world.all()
            # The windows of the first motions are whole.
            await asyncio.sleep(2.0)
            await world.command("change-settings", json.dumps({"crs": {**LIVE, "ha-auto-rebalance": 1}}))
            await asyncio.sleep(SECONDS)
            for node in world.nodes[:2]:
                await world.leave(f"manager {node}")
            await _write(world.log, folder, "live")
            samples = [_to_data(sample) for sample in await world.log.side.read_all(STREAM)]
            (folder / "live.samples").write_text(json.dumps(samples, indent=0) + "\n")
        finally:
            await world.end()
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")


async def _write(log: MemoryLog, folder: Path, name: str) -> None:
    state = fold([event async for event in log.read_all()])
    segment = await write_segment(log, folder / name, 1, state.n)
    segment.path.replace(folder / f"{name}.haes.gz")
    segment.path.parent.rmdir()
    (folder / f"{name}.json").write_text(json.dumps(state.to_data(), indent=1, sort_keys=True) + "\n")


def _to_data(sample: SideEntry) -> list[object]:
    return [sample.id, {name: base64.b64encode(value).decode() for name, value in sample.fields.items()}]


def main() -> None:
    """Records this release unless that was done."""
    folder = RELEASES / f"{PROGRAM_VERSION}-{POLICY_VERSION}"
    if not folder.exists():
        folder.mkdir(parents=True)
        asyncio.run(record(folder))


if __name__ == "__main__":
    main()
