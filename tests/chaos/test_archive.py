"""A running cluster that archives: old events leave the stream, everybody goes on, and the past can still be asked."""

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from events.archive import segments_in
from haes.archive.steps import recorded_segments
from tests.chaos.cluster import PATIENT, TEST_LIMIT, LiveCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(TEST_LIMIT)]

Make = Callable[..., Awaitable[LiveCluster]]


async def test_a_leader_archives_and_everybody_goes_on(make: Make, tmp_path: Path) -> None:
    """Segments are written, read back by another process and trimmed while services move; a restart finds its state."""
    folder = tmp_path / "archive"
    cluster = await make(archive=folder, **PATIENT)
    for node in ("node3", "node1", "node2"):
        outcome = await cluster.command("relocate", "process:a", node)
        assert outcome.text == f"process:a is on {node}"
    await cluster.until_trimmed(40)
    await cluster.leave("agent", "node3")
    await cluster.start_one("agent", "node3")
    outcome = await cluster.command("relocate", "process:a", "node3")
    assert outcome.text == "process:a is on node3"
    log = cluster.log()
    await log.open()
    try:
        assert {segment.path.name for segment in segments_in(folder)} >= (await recorded_segments(log, folder)).keys()
    finally:
        await log.close()
    await cluster.check_invariants()


async def test_a_manager_that_slept_through_the_trimming_goes_on_from_a_snapshot(make: Make, tmp_path: Path) -> None:
    """What it did not read is gone from the stream, which is no loss: no generation is raised, nobody is fenced."""
    cluster = await make(archive=tmp_path / "archive", agent_lease=PATIENT["agent_lease"])
    state = await cluster.state()
    leader = state.leader
    assert leader is not None
    standby = next(node for node in cluster.managers if node != leader)
    cluster.signal("manager", standby, signal.SIGSTOP)
    before = await cluster.head()
    for node in ("node3", "node1", "node2", "node3"):
        await cluster.command("relocate", "process:a", node)
    await cluster.until_trimmed(before.n + 1)
    cluster.signal("manager", standby, signal.SIGCONT)
    await cluster.kill("manager", leader)
    await cluster.until(lambda state: state.leader == standby, "the sleeper leads")
    assert (await cluster.command("relocate", "process:a", "node1")).text == "process:a is on node1"
    assert (await cluster.head()).generation == before.generation
    events = await cluster.check_invariants()
    assert not [event for event in events if event.type in {"log.regressed", "node.fence"}]
    assert "went on from a snapshot" in (cluster.directory / standby / "manager.log").read_text()
