"""What a test may do to a log behind its back: let time pass, lose, trim, replace or damage what it keeps."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from events.log.memory import MemoryLog
from events.log.port import EventLog, Head
from events.log.redis import RedisLog
from events.log.redis_keys import keys_of
from events.programs import FOLDER_FORMAT

MICRO = 1_000_000


class Hands(ABC):
    """Meddles with one log."""

    log: EventLog

    @abstractmethod
    async def advance(self, seconds: float) -> None:
        """Lets domain time pass."""

    @abstractmethod
    async def set_back(self, seconds: float) -> None:
        """Sets the clock below domain time back, as another server's may be."""

    @abstractmethod
    async def trim(self, up_to: int) -> None:
        """Removes the oldest events."""

    @abstractmethod
    async def lose_tail(self, after: int) -> None:
        """Loses the newest events, as a failover may."""

    @abstractmethod
    async def destroy(self) -> None:
        """Removes the whole log."""

    @abstractmethod
    async def write(self, entry_id: str, flat: Sequence[bytes]) -> None:
        """Writes an entry by hand."""


class MemoryHands(Hands):
    """Meddles with a log in memory."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.log: MemoryLog = MemoryLog("test", clock=lambda: self.time)

    async def advance(self, seconds: float) -> None:
        """See Hands."""
        self.time += seconds

    async def set_back(self, seconds: float) -> None:
        """See Hands."""
        await self.log.now()
        self.time -= seconds

    async def trim(self, up_to: int) -> None:
        """See Hands."""
        del self.log._entries[: up_to - self.log._trimmed]
        self.log._trimmed = up_to

    async def lose_tail(self, after: int) -> None:
        """See Hands."""
        del self.log._entries[after - self.log._trimmed :]
        head = await self.log.head()
        last_id = self.log._entries[-1][0].decode()
        self.log._head = Head(head.log_id, head.generation, after, last_id)

    async def destroy(self) -> None:
        """See Hands."""
        self.log._head = None

    async def write(self, entry_id: str, flat: Sequence[bytes]) -> None:
        """See Hands."""
        self.log._entries.append((entry_id.encode(), list(flat)))
        head = await self.log.head()
        self.log._head = Head(head.log_id, head.generation, head.n + 1, entry_id)


class RedisHands(Hands):
    """Meddles with a log on a server, through its keys."""

    def __init__(self, log: RedisLog) -> None:
        self.log: RedisLog = log
        self.keys = keys_of(log.cluster)

    async def ask(self, *command: Any) -> Any:
        """Sends any command."""
        return await self.log._server.execute(*command)

    async def advance(self, seconds: float) -> None:
        """See Hands."""
        await self.ask("HINCRBY", self.keys.head, "time_offset", round(seconds * MICRO))

    async def set_back(self, seconds: float) -> None:
        """See Hands."""
        last = round(await self.log.now() * MICRO)
        await self.ask("HSET", self.keys.head, "last_time", last)
        await self.advance(-seconds)

    async def trim(self, up_to: int) -> None:
        """See Hands."""
        length = (await self.log.head()).n
        await self.ask("XTRIM", self.keys.events, "MAXLEN", length - up_to)

    async def lose_tail(self, after: int) -> None:
        """See Hands."""
        entries = await self.ask("XRANGE", self.keys.events, "-", "+")
        await self.ask("DEL", self.keys.events)
        for entry_id, flat in entries[:after]:
            await self.ask("XADD", self.keys.events, entry_id, *flat)
        await self.ask("HSET", self.keys.head, "n", after, "last_id", entries[after - 1][0])

    async def destroy(self) -> None:
        """See Hands."""
        await self.ask("FLUSHALL")

    async def write(self, entry_id: str, flat: Sequence[bytes]) -> None:
        """See Hands."""
        await self.ask("XADD", self.keys.events, entry_id, *flat)
        await self.ask("HINCRBY", self.keys.head, "n", 1)
        await self.ask("HSET", self.keys.head, "last_id", entry_id)


def forget_data(folder: Path) -> None:
    """Removes what an embedded server keeps in its folder, in the form of any version."""
    (folder / "appendonly.aof").unlink(missing_ok=True)
    shutil.rmtree(folder / FOLDER_FORMAT, ignore_errors=True)
