"""The simulator itself: a cluster comes up in it, and one seed tells one story."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tests.cluster_simulator.cluster import Cluster

# Virtual seconds in which a cluster without faults is up.
UP = 30.0
ROOT = Path(__file__).parent.parent.parent


def begin(seed: int, seconds: float = UP) -> Cluster:
    """Runs a cluster without faults for a while."""
    cluster = Cluster(seed)

    async def main() -> None:
        cluster.start_all()
        await asyncio.sleep(seconds)
        cluster.watch.look()

    cluster.run(main)
    return cluster


def test_a_cluster_comes_up() -> None:
    """Three managers and three agents, as they really are, start every service once, and nothing is wrong."""
    cluster = begin(1)
    assert cluster.violations == []
    assert cluster.truth.runs == {name: [node] for name, node in cluster.services.items()}


def test_a_seed_tells_one_story() -> None:
    """The same seed leads to the same trace, byte for byte, also where Python hashes text in another way."""
    again = "import sys; from tests.cluster_simulator.test_simulator import begin; print(chr(10).join(begin(7).trace))"
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    said = subprocess.run([sys.executable, "-c", again], cwd=ROOT, env=environment, capture_output=True, check=True)
    trace = begin(7).trace
    assert said.stdout.decode().splitlines() == trace
    assert len(trace) > 50
    assert begin(8).trace != trace
