"""A Redis server that tests can kill, pause and start again on the same files; knows nothing of HAES."""

import asyncio
import resource
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from events.programs import find_program

# Seconds for it to answer after its start; a guard for busy machines.
START_LIMIT = 60.0
# What is kept on disk: one file, or since Redis 7 a folder of them, of which the last grows.
_FILES = ("appendonlydir", "appendonly.aof")
_CONFIGURATION = """\
port 0
unixsocket redis.sock
unixsocketperm 700
save ""
appendonly yes
appendfsync {fsync}
maxmemory-policy noeviction
"""


class RedisServer:
    """One server."""

    def __init__(self, folder: Path, *, fsync: str = "everysec") -> None:
        """Prepares it.

        Args:
            folder: where it keeps its file and its socket.
            fsync: how often it writes its file through.
        """
        self.folder = folder
        self.socket = folder / "redis.sock"
        self._fsync = fsync
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"unix://{self.socket}"

    async def start(self) -> None:
        """Starts it and waits until it answers."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "redis.conf").write_text(_CONFIGURATION.format(fsync=self._fsync))
        program = await asyncio.to_thread(find_program, self.folder)
        with (self.folder / "redis.log").open("ab") as said:
            self._process = await asyncio.create_subprocess_exec(
                program,
                "redis.conf",
                cwd=self.folder,
                stdout=said,
                stderr=said,
                start_new_session=True,
                # SIGXFSZ stays ignored, so that a file that may not grow is an error like a full disk.
                restore_signals=False,
            )
        async with asyncio.timeout(START_LIMIT):
            while not await self._answers():
                await asyncio.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    async def kill(self) -> None:
        """Kills it, without a chance to write anything."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    def fill_disk(self) -> None:
        """Lets the server's file grow no further."""
        assert self._process is not None
        kept = self._kept()
        growing = max(kept.glob("*.incr.aof"), key=lambda path: path.stat().st_mtime) if kept.is_dir() else kept
        size = growing.stat().st_size
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def free_disk(self) -> None:
        """Lets it grow again."""
        assert self._process is not None
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, unlimited)

    def copy_file(self) -> None:
        """Keeps a copy of what is on disk as it is now."""
        kept, copy = self._kept(), self.folder / "copy"
        if kept.is_dir():
            shutil.copytree(kept, copy)
        else:
            shutil.copy(kept, copy)

    def restore_file(self) -> None:
        """Puts the copy back: what was written since is lost, as after a crash of the machine."""
        kept, copy = self._kept(), self.folder / "copy"
        if kept.is_dir():
            shutil.rmtree(kept)
        copy.replace(kept)

    def _kept(self) -> Path:
        return next(self.folder / name for name in _FILES if (self.folder / name).exists())

    async def _answers(self) -> bool:
        with suppress(OSError):
            reader, writer = await asyncio.open_unix_connection(str(self.socket))
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
            return answer.startswith(b"+PONG")
        return False
