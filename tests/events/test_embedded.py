"""The embedded server: keeps its data, is shared, and leaves nothing running behind."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from events import embedded
from events.embedded import EmbeddedLog, EmbeddedRedis
from events.errors import LogUnavailable, UserError
from tests.events.hands import forget_data
from tests.events.kinds import happened

# Seconds that bound every wait for a process.
SOON = 20.0

# Starts a server, says its process id, and waits to be killed.
OWNER = """
import asyncio, sys
from pathlib import Path
from events.embedded import EmbeddedRedis

async def main():
    server = EmbeddedRedis(Path(sys.argv[1]))
    await server.start()
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def _wait_for_end(pid: int) -> None:
    """Waits until a process that is not ours has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], SOON)[0], f"process {pid} is still running"
    finally:
        os.close(descriptor)


@contextmanager
def _owner(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Runs another process that owns a server, and gives its handle and the server's process id."""
    command = [sys.executable, "-c", OWNER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        try:
            yield owner, int(owner.stdout.readline())
        finally:
            owner.kill()


def _is_socket(path: str) -> bool:
    return Path(path).is_socket()


def _exists(path: Path | str) -> bool:
    return Path(path).exists()


async def test_events_survive_a_restart(tmp_path: Path) -> None:
    """What was appended before a clean stop is there after the next start, with the same log id and versions."""
    log = EmbeddedLog(tmp_path, "test")
    await log.open()
    token = await log.acquire("leader", "node1")
    await log.append([happened(value="kept")], token=token)
    head = await log.head()
    await log.close()
    assert log.server.pid is None
    await log.open()
    assert await log.head() == head
    assert [event.payload for event in await log.read()] == [{"value": "kept"}]
    assert await log.versions(["vm:101"]) == {"vm:101": 1}
    await log.append([happened()], token=token, expect={"vm:101": 1})
    await log.close()


async def test_events_survive_a_killed_server(tmp_path: Path) -> None:
    """What was appended before the server alone was killed is there after the next start."""
    log = EmbeddedLog(tmp_path, "test")
    await log.open()
    token = await log.acquire("leader", "node1")
    await log.append([happened(value="kept")], token=token)
    assert log.server.pid is not None
    os.kill(log.server.pid, signal.SIGKILL)
    await log.close()
    await log.open()
    assert [event.payload for event in await log.read()] == [{"value": "kept"}]
    await log.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
async def test_no_server_outlives_a_killed_owner(tmp_path: Path) -> None:
    """The kernel ends the server when its owner is killed; the next start cleans up and runs one of its own."""
    with _owner(tmp_path) as (owner, pid):
        os.kill(pid, 0)
        owner.kill()
        owner.wait(SOON)
    _wait_for_end(pid)
    server = EmbeddedRedis(tmp_path)
    await server.start()
    assert server.pid not in (None, pid)
    await server.stop()


async def test_a_second_process_shares_the_server(tmp_path: Path) -> None:
    """Who opens the folder while a server runs there uses that one, and does not stop it."""
    with _owner(tmp_path) as (owner, pid):
        log = EmbeddedLog(tmp_path, "test")
        await log.open()
        shared = log.server.pid
        assert shared is None
        token = await log.acquire("leader", "node1")
        await log.append([happened()], token=token)
        await log.close()
        os.kill(pid, 0)
        owner.kill()
        owner.wait(SOON)
    _wait_for_end(pid)
    await log.open()
    own = log.server.pid
    assert own is not None
    assert (await log.head()).n == 1
    await log.close()


async def test_stopping_leaves_no_process_and_no_socket(tmp_path: Path) -> None:
    """After a stop the server has ended and was waited for, its socket is gone, the folder is free."""
    server = EmbeddedRedis(tmp_path)
    await server.start()
    pid = server.pid
    assert pid is not None
    assert _is_socket(server.socket)
    await server.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not _exists(server.socket)
    await server.stop()


async def test_a_server_that_ignores_commands_is_ended_by_signals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that does not answer any more is killed within bounded time."""
    monkeypatch.setattr(embedded, "ANSWER_LIMIT", 0.1)
    server = EmbeddedRedis(tmp_path)
    monkeypatch.setattr(embedded, "STOP_LIMIT", SOON)
    await server.start()
    monkeypatch.setattr(embedded, "STOP_LIMIT", 0.1)
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    await server.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_what_a_dead_server_left_is_cleaned(tmp_path: Path) -> None:
    """A socket that nobody listens on and a pointer to nowhere do not stand in the way."""
    (tmp_path / "redis.sock").touch()
    (tmp_path / "redis.socket").write_text("/nowhere/haes-gone/redis.sock")
    server = EmbeddedRedis(tmp_path)
    await server.start()
    assert _is_socket(server.socket)
    assert not _exists(tmp_path / "redis.socket")
    await server.stop()


async def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    """A folder whose path is too long for a socket works, is shared, and leaves nothing in the temporary folder."""
    folder = tmp_path / ("long" * 30) / 'with "quotes" and blanks'
    server, other = EmbeddedRedis(folder), EmbeddedRedis(folder)
    await server.start()
    assert len(server.socket) <= embedded.SOCKET_PATH_LIMIT
    await other.start()
    assert (other.socket, other.pid) == (server.socket, None)
    await other.stop()
    await server.stop()
    assert not _exists(Path(server.socket).parent)


async def test_a_folder_that_cannot_be_used_is_the_users_to_mend(tmp_path: Path) -> None:
    """A file where the folder should be is named in one line."""
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="data folder"):
        await EmbeddedRedis(tmp_path / "file").start()


async def test_a_server_that_cannot_read_its_file_is_reported(tmp_path: Path) -> None:
    """The reason why a server ended at once is in the message, and the folder is free again."""
    (tmp_path / "appendonly.aof").write_text("this is no append-only file\n")
    server = EmbeddedRedis(tmp_path)
    for _ in range(2):
        with pytest.raises(LogUnavailable, match="append only file"):
            await server.start()
    forget_data(tmp_path)
    await server.start()
    await server.stop()
