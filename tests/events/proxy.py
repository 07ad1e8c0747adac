"""A proxy between a client and a server that can lose, delay and cut what passes; knows nothing of what it carries."""

import asyncio
import re
from contextlib import suppress

# A random id of 16 hexadecimal digits as it goes over the wire: the nonce of a token, or the id of a command.
_COMMAND_ID = re.compile(rb"\$16\r\n([0-9a-f]{16})\r\n")


class Proxy:
    """Listens on a TCP port of the loopback and forwards to a Unix socket."""

    def __init__(self, target: str) -> None:
        """Prepares it.

        Args:
            target: path of the server's socket.
        """
        self.target = target
        # Set whenever something that a client sent was passed on.
        self.forwarded = asyncio.Event()
        self._drop = asyncio.Event()
        # Replies that were lost on purpose to commands that hold certain bytes.
        self.lost = 0
        self._losing: bytes | None = None
        self._seen: set[bytes] = set()
        self._flow = asyncio.Event()
        self._flow.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The URL under which the server is reached through the proxy."""
        assert self._server is not None
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def start(self) -> None:
        """Starts to listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def stop(self) -> None:
        """Cuts everything and stops listening."""
        assert self._server is not None
        self._server.close()
        self.cut()
        self._flow.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def drop_reply(self) -> None:
        """Lets the next commands reach the server, swallows the first reply and cuts that connection."""
        self._drop.set()

    def lose_first_reply_to(self, words: bytes | None) -> None:
        """Swallows the reply to every command that holds some words and was not sent before, and cuts its connection.

        A repeated command, which has the same 16 hexadecimal digits as its first one, is answered.
        """
        self._losing = words

    def stall(self) -> None:
        """Holds back everything that the server sends from now on."""
        self._flow.clear()

    def resume(self) -> None:
        """Sends on what was held back."""
        self._flow.set()

    def cut(self) -> None:
        """Breaks all connections; new ones are accepted."""
        for writer in list(self._writers):
            writer.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.close()
            return
        ends = (writer, server_writer)
        losing = asyncio.Event()
        self._writers.update(ends)
        tasks = [
            asyncio.create_task(self._forward(reader, server_writer, ends, losing)),
            asyncio.create_task(self._return(server_reader, writer, ends, losing)),
        ]
        self._tasks.update(tasks)
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            with suppress(OSError):
                await end.wait_closed()
        self._writers.difference_update(ends)

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        ends: tuple[asyncio.StreamWriter, ...],
        losing: asyncio.Event,
    ) -> None:
        """Carries what the client sends."""
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if self._losing is not None and self._losing in data and self._is_first(data):
                    losing.set()
                writer.write(data)
                await writer.drain()
                self.forwarded.set()
        _close(ends)

    async def _return(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        ends: tuple[asyncio.StreamWriter, ...],
        losing: asyncio.Event,
    ) -> None:
        """Carries what the server answers, as far as the test lets it."""
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if self._drop.is_set():
                    self._drop.clear()
                    break
                if losing.is_set():
                    self.lost += 1
                    break
                await self._flow.wait()
                writer.write(data)
                await writer.drain()
        _close(ends)

    def _is_first(self, data: bytes) -> bool:
        # The first is the nonce of the writer's token.
        _, command, *_ = [*_COMMAND_ID.findall(data), None, None]
        if command is None or command in self._seen:
            return False
        self._seen.add(command)
        return True


def _close(ends: tuple[asyncio.StreamWriter, ...]) -> None:
    for end in ends:
        end.close()
