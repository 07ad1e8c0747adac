"""The archivist: real steps in processes of their own, and trouble that is kept in sight until it is over."""

from pathlib import Path

from events.archive import segments_in
from events.embedded import EmbeddedRedis
from events.history import History
from events.log.port import LeaseInfo
from events.log.redis import RedisLog
from haes.configuration.cluster import Archiving
from haes.live.archivist import Archivist
from haes.live.presence import ARCHIVE_TROUBLE, LEADER_LEASE
from haes.live.status import trouble
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from haes.state.cluster import ClusterState
from tests.cli.running import SCENARIOS


async def _log(server: EmbeddedRedis) -> RedisLog:
    """Returns a log of 118 events."""
    log = RedisLog(server.url, "test")
    await log.open()
    await simulate(load_scenario(SCENARIOS / "fa109"), log, lambda _: None)
    return log


async def test_a_turn_archives_and_trims(server: EmbeddedRedis, tmp_path: Path) -> None:
    """After a turn whole segments are in the folder and out of the stream; the last events stay."""
    log = await _log(server)
    try:
        folder = tmp_path / "archive"
        archivist = Archivist(Archiving(str(folder), 1, 30, 50), server.url, "test")
        await archivist.turn()
        assert archivist.trouble is None
        assert [segment.last for segment in segments_in(folder)] == [30, 60]
        assert await History(log).first_in_stream() == 61
    finally:
        await log.close()


async def test_trouble_is_in_sight_until_it_is_over(server: EmbeddedRedis, tmp_path: Path) -> None:
    """A folder that cannot be used stops archiving, with the reason; nothing is trimmed, and later it works again."""
    log = await _log(server)
    try:
        folder = tmp_path / "archive"
        folder.write_text("in the way")
        archivist = Archivist(Archiving(str(folder), 1, 100, 0), server.url, "test")
        await archivist.turn()
        assert archivist.trouble is not None
        assert str(folder) in archivist.trouble
        assert await History(log).first_in_stream() == 1
        folder.unlink()
        await archivist.turn()
        assert archivist.trouble is None
        assert await History(log).first_in_stream() == 101
    finally:
        await log.close()


def test_status_shows_that_archiving_does_not_work() -> None:
    """What the leader notes in its lease is among the trouble."""
    lease = LeaseInfo("node1", 1, 5.0, {ARCHIVE_TROUBLE: "haes: /archive: cannot be written"})
    found = trouble(ClusterState(), {LEADER_LEASE: lease})
    assert found == ["archiving does not work, so the stream grows: haes: /archive: cannot be written"]
