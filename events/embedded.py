"""A private Redis server in a data folder: finds a program, starts it, shares it, stops it; knows nothing of streams.

The server listens on a Unix socket only, keeps an append-only file in the folder and belongs to the process that
started it: it stops when that process stops it, and the kernel ends it when that process dies, however it dies. Other
processes that use the same folder meanwhile connect to the same server.

A lock on a file of the folder says who the owner is. The server inherits it, so that the folder stays locked until the
server is really gone, and two servers never write one append-only file.
"""

import asyncio
import fcntl
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from events.errors import HaesError, LogUnavailable, UserError
from events.log.durability import LOCAL
from events.log.redis import RedisLog
from events.private import FOLDER, close_to_others, opener, write_private
from events.programs import FILE_FORMAT, FOLDER_FORMAT, find_program

# Seconds for a server to answer after its start; reading an append-only file of some million events takes that long.
START_LIMIT = 60.0
# Seconds between two looks at a server that is starting: short against the 0.05 s that an empty one takes.
START_INTERVAL = 0.01
# Seconds for a reply to PING or for a connection on the local socket.
ANSWER_LIMIT = 2.0
# Seconds for the server to write its file and end by itself, and again after SIGTERM, before the next harder step.
STOP_LIMIT = 10.0
# Bytes of a path that every system accepts for a Unix socket (Linux has 108, others 104, one of them for the end).
SOCKET_PATH_LIMIT = 100

# Runs in the child before the server does: asks the kernel for SIGTERM (on which the server still writes its file) when
# the parent dies, and ends at once if it died before. In a process of its own, because code between fork and exec is
# not safe in a process with threads. The number is PR_SET_PDEATHSIG; other systems than Linux have nothing like it, and
# there the next start finds the server and uses it.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
os.umask(0o077)
parent, program = int(sys.argv[1]), sys.argv[2]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(0)
os.execv(program, sys.argv[2:])
"""


# Paths are relative to the folder where they can be.
_CONFIGURATION = """\
# Written at every start; changes are lost.
port 0
unixsocket {socket}
unixsocketperm 700
daemonize no
databases 1
save ""
appendonly yes
# Once a second: what a crash of the machine can cost; a crash of the server alone costs nothing.
appendfsync everysec
# The log must never be dropped to make room.
maxmemory-policy noeviction
"""
_POINTER = "redis.socket"
# What a server and we leave in a data folder: the events, with the environments of services among them.
_OURS = (FOLDER_FORMAT, f"{FILE_FORMAT}*", "redis.conf", "redis.log", "redis.lock", _POINTER, "*.rdb")
_SHORT_PREFIX = "haes-"


class EmbeddedRedis:
    """The server of one data folder, ours or another process's."""

    def __init__(self, folder: Path) -> None:
        """Prepares it; `start` makes it run.

        Args:
            folder: the data folder; created when it is missing.
        """
        self.folder = folder.absolute()
        self.socket = ""
        self._process: asyncio.subprocess.Process | None = None
        self._lock: int | None = None

    @property
    def url(self) -> str:
        """The URL of the running server."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int | None:
        """Process id of the server if it is ours."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Starts the server, or finds the one that another process runs here.

        The kernel ends the server with the thread that calls this: call it from one that lives as long as the program.

        Raises:
            UserError: the folder cannot be used, or there is no program to run.
            LogUnavailable: the server does not come up.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=FOLDER)
            lock = os.open(self.folder / "redis.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UserError(f"{self.folder}: the data folder cannot be used ({error.strerror})") from error
        try:
            async with asyncio.timeout(START_LIMIT):
                while True:
                    if _try_lock(lock):
                        self._lock, lock = lock, -1
                        await self._run()
                        return
                    self.socket = self._known_socket()
                    if await _answers(self.socket):
                        return
                    await asyncio.sleep(START_INTERVAL)
        except TimeoutError:
            await self.stop()
            raise LogUnavailable(
                f"embedded:{self.folder}: the server did not answer within {START_LIMIT:.0f} s{self._last_words()}"
            ) from None
        except BaseException:
            await self.stop()
            raise
        finally:
            if lock >= 0:
                os.close(lock)

    async def stop(self) -> None:
        """Stops the server if it is ours: by command, then by SIGTERM, then by SIGKILL."""
        process, self._process = self._process, None
        if process is not None:
            for step in (lambda: _command(self.socket, "SHUTDOWN"), process.terminate, process.kill):
                with suppress(OSError, TimeoutError):
                    attempt = step()
                    if attempt is not None:
                        await attempt
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), STOP_LIMIT)
                    break
            self._remove_traces()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _run(self) -> None:
        """Starts the server and waits until it answers; the lock is ours."""
        program = await asyncio.to_thread(find_program, self.folder)
        self._remove_traces()
        self._place_socket()
        close_to_others(self.folder, _OURS)
        write_private(self.folder / "redis.conf", _CONFIGURATION.format(socket=_quoted(self.socket)))
        # What the server says before it reads its configuration goes to the same file as what it says later.
        with open(self.folder / "redis.log", "ab", opener=opener) as said:  # noqa: ASYNC230 - as in `private`
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), program, "redis.conf"),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=self.folder,
                pass_fds=(self._held(),),
                # Ctrl-C in a terminal is for us; the server is stopped when everything that uses it has ended.
                start_new_session=True,
            )
        while not await _answers(self.socket):
            if self._process.returncode is not None:
                raise LogUnavailable(f"embedded:{self.folder}: the server ended at once{self._last_words()}")
            await asyncio.sleep(START_INTERVAL)

    def _held(self) -> int:
        """Returns the lock."""
        if self._lock is None:
            raise HaesError(f"embedded:{self.folder}: a server needs the lock of its folder")
        return self._lock

    def _place_socket(self) -> None:
        """Chooses the socket: in the folder, or where the path is short enough, with a file that points there."""
        self.socket = str(self.folder / "redis.sock")
        if len(os.fsencode(self.socket)) > SOCKET_PATH_LIMIT:
            self.socket = str(Path(tempfile.mkdtemp(prefix=_SHORT_PREFIX)) / "redis.sock")
            write_private(self.folder / _POINTER, self.socket)

    def _known_socket(self) -> str:
        """Returns the socket of the server that another process runs here."""
        with suppress(OSError):
            return (self.folder / _POINTER).read_text()
        return str(self.folder / "redis.sock")

    def _remove_traces(self) -> None:
        """Removes the socket of a server that is gone, and the short folder that was made for it."""
        socket = Path(self._known_socket())
        with suppress(OSError):
            socket.unlink()
        if socket.parent.name.startswith(_SHORT_PREFIX):
            with suppress(OSError):
                socket.parent.rmdir()
        with suppress(OSError):
            (self.folder / _POINTER).unlink()

    def _last_words(self) -> str:
        """Returns the last line of the server's log, to be put at the end of a message."""
        with suppress(OSError):
            lines = (self.folder / "redis.log").read_text(errors="replace").splitlines()
            return f": {lines[-1].strip()}" if lines else ""
        return ""


class EmbeddedLog(RedisLog):
    """A log on the embedded server of a data folder; opening it starts the server, closing it stops what it started."""

    def __init__(self, folder: Path, cluster: str, *, durability: str = LOCAL) -> None:
        """Prepares a log; `open` starts the server and connects.

        Args:
            folder: the data folder.
            cluster: name of the cluster.
            durability: when an append counts as done.
        """
        self.server = EmbeddedRedis(folder)
        super().__init__(self.server.url, cluster, durability=durability)
        self.shown = f"embedded:{folder}"

    async def open(self) -> None:
        """See EventLog."""
        await self.server.start()
        self.url = self.server.url
        try:
            await super().open()
        except BaseException:
            await self.server.stop()
            raise

    async def close(self) -> None:
        """See EventLog."""
        await super().close()
        await self.server.stop()


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _command(socket: str, text: str) -> bytes:
    """Sends one command and returns the first line of the reply, empty when the server hangs up."""
    async with asyncio.timeout(ANSWER_LIMIT):
        reader, writer = await asyncio.open_unix_connection(socket)
        try:
            writer.write(text.encode() + b"\r\n")
            return await reader.readline()
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _answers(socket: str) -> bool:
    """Says whether a server is there and has read its data."""
    with suppress(OSError, TimeoutError):
        return (await _command(socket, "PING")).startswith(b"+PONG")
    return False


def _quoted(path: str) -> str:
    """Returns a path as the server's configuration takes it."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
