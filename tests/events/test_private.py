"""What lies on disk is for its owner alone, what earlier versions left there included."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from events.embedded import EmbeddedLog
from haes.live.process import Place, dump_state
from haes.live.seen import Seen, SeenFile
from haes.state.cluster import ClusterState
from tests.events.kinds import happened

OTHERS = 0o077


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Lets everybody read what is made without a thought."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _open_to_others(folder: Path) -> set[str]:
    """Returns the names of what others may read or write."""
    found = {path for path in folder.rglob("*") if not path.is_socket() and path.lstat().st_mode & OTHERS}
    return {str(path.relative_to(folder)) for path in found}


async def test_the_data_of_the_server_are_private(tmp_path: Path) -> None:
    """No file and no folder of the embedded server can be read by others; a folder that was open is closed."""
    folder = tmp_path / "data"
    for again in (False, True):
        log = EmbeddedLog(folder, "test")
        await log.open()
        try:
            await log.append([happened()], token=await log.acquire("leader", "node1", seize=True))
            assert _open_to_others(tmp_path) == set(), again
        finally:
            await log.close()
        assert _open_to_others(tmp_path) == set(), again
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)


async def test_what_others_put_there_stays_theirs(tmp_path: Path) -> None:
    """A folder that was there and files that are not ours keep their rights."""
    (tmp_path / "mine").write_text("shared")
    before = tmp_path.stat().st_mode
    log = EmbeddedLog(tmp_path, "test")
    await log.open()
    await log.close()
    assert tmp_path.stat().st_mode == before
    assert _open_to_others(tmp_path) == {"mine"}


def test_the_files_of_a_node_are_private(tmp_path: Path) -> None:
    """State, memory, locks and logs of a node are closed to others, those from before as well."""
    folder = tmp_path / "node1"
    folder.mkdir(mode=0o755)
    left = {"manager.log", "keeper.log", "manager.seen", "manager.state", "keeper.json"}
    for name in left:
        (folder / name).write_text("{}")
    place = Place(folder, "manager")
    dump_state(place, "manager", ClusterState())
    SeenFile(folder / "manager.seen").save(Seen("log", 1, 1))
    place.close()
    assert left < {path.name for path in folder.iterdir()}
    assert _open_to_others(tmp_path) - {"node1"} == set()
