"""What one service prints: taken from a pipe, kept in two files of bounded size, its end kept at hand.

A service that prints without end must neither fill the disk nor keep the keeper from its deadline: what comes faster
than the files may grow is left out and counted, and what comes faster than the keeper reads makes the service wait.
Standard library only: the keeper imports this.
"""

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from haes.clock import boottime

# Bytes of the file that is written; when it is full it takes the place of the older one.
FILE_LIMIT = 4 << 20
# Bytes a second that go to the files for long, and at once after a quiet time: what a talkative service needs.
WRITE_RATE, WRITE_BURST = 1 << 20, 8 << 20
# Bytes a second that are read at all, and at once: a few per cent of a core.
READ_RATE, READ_BURST = 64 << 20, 16 << 20
# Bytes of one read, which is one turn of the keeper.
READ_SIZE = 256 << 10
# Bytes that the pipe holds, so that a burst does not make the service wait.
PIPE_SIZE = 1 << 20
# Bytes that are kept in memory for the report of a death.
TAIL_SIZE = 4 << 10
OLDER = ".1"


class Allowance:
    """So many bytes a second, which can be saved up to a limit."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most = rate, most
        self._left, self._at = most, boottime()

    def left(self) -> float:
        """Returns the bytes that may be used now."""
        now = boottime()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        return self._left

    def use(self, amount: float) -> None:
        """Uses bytes."""
        self._left -= amount


class Output:
    """The output of one run of a service.

    Attributes:
        reader: the end of the pipe that the keeper reads.
        writer: the end that the service gets, -1 once it has it.
    """

    def __init__(self, path: str) -> None:
        """Opens the file, creating it for its owner alone.

        Raises:
            OSError: it cannot be opened.
        """
        self._path = path
        self._file = self._open()
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.reader, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        self._tail = b""
        self._said = 0
        self._left_out = 0
        self._may_write = Allowance(WRITE_RATE, WRITE_BURST)
        self._may_read = Allowance(READ_RATE, READ_BURST)

    def handed_over(self) -> None:
        """The service has its end of the pipe: this process needs it no longer."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def pump(self) -> bool:
        """Takes what waits, at most one read; returns False when nothing will come any more."""
        try:
            data = os.read(self.reader, READ_SIZE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        self._may_read.use(len(data))
        self._said += len(data)
        self._tail = (self._tail + data)[-TAIL_SIZE:] if len(data) < TAIL_SIZE else data[-TAIL_SIZE:]
        self._keep(data)
        return True

    def rests(self) -> float:
        """Returns the seconds for which nothing should be read, 0 when it may."""
        left = self._may_read.left()
        return 0.0 if left > 0 else (READ_SIZE - left) / READ_RATE

    def close(self) -> tuple[bytes, bool]:
        """Takes what is left in the pipe and closes everything; returns the last bytes, and whether they are all."""
        self.handed_over()
        for _ in range(PIPE_SIZE // READ_SIZE + 1):
            before = self._said
            if not self.pump() or self._said == before:
                break
        self._say_left_out()
        os.close(self.reader)
        os.close(self._file)
        return self._tail, self._said <= len(self._tail)

    def _keep(self, data: bytes) -> None:
        if self._may_write.left() < len(data):
            self._left_out += len(data)
            return
        self._say_left_out()
        self._write(data)

    def _say_left_out(self) -> None:
        if self._left_out:
            count, self._left_out = self._left_out, 0
            self._write(b"\n[%d bytes were left out: too many at once]\n" % count)

    def _write(self, data: bytes) -> None:
        """Writes to the file; a disk that is full takes nothing, and the service goes on all the same."""
        self._may_write.use(len(data))
        with contextlib.suppress(OSError):
            known = os.fstat(self._file)
            if stat.S_ISREG(known.st_mode) and known.st_size and known.st_size + len(data) > FILE_LIMIT:
                Path(self._path).replace(self._path + OLDER)
                os.close(self._file)
                self._file = self._open()
            os.write(self._file, data)

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
