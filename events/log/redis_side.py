"""Streams beside the log, on Redis; see `SideStreams`."""

from collections.abc import Mapping, Sequence
from typing import Any

from events.log.redis_client import Server
from events.log.redis_errors import translated
from events.log.redis_keys import Keys
from events.log.side import READ_COUNT, SideEntry, SideStreams, of_kind

_MILLI = 1000
# Characters of a stream's name.
LONGEST_NAME = 300


class RedisSideStreams(SideStreams):
    """The streams beside the log of one cluster on a server."""

    def __init__(self, server: Server, keys: Keys) -> None:
        self._server = server
        self._keys = keys

    async def add(
        self, name: str, fields: Mapping[str, str | bytes], *, keep: int, max_age: float | None = None
    ) -> str:
        """See SideStreams."""
        key = self._keys.side(name)
        pairs = [part for pair in fields.items() for part in pair]
        with translated(self._server.shown):
            async with self._server.commands.pipeline(transaction=False) as pipe:
                pipe.execute_command("SADD", self._keys.sides, name)
                pipe.execute_command("XADD", key, "MAXLEN", "~", keep, "*", *pairs)
                _, added = await pipe.execute()
            entry_id: str = added.decode()
            if max_age is not None:
                oldest = int(entry_id.partition("-")[0]) - int(max_age * _MILLI)
                await self._server.execute("XTRIM", key, "MINID", "~", max(0, oldest))
        return entry_id

    async def read(self, after: Mapping[str, str], *, count: int = READ_COUNT) -> dict[str, Sequence[SideEntry]]:
        """See SideStreams."""
        if not after:
            return {}
        names = {self._keys.side(name).encode(): name for name in after}
        with translated(self._server.shown):
            reply = await self._server.execute("XREAD", "COUNT", count, "STREAMS", *names, *after.values())
        return {names[bytes(key)]: [_entry(*pair) for pair in entries] for key, entries in reply or ()}

    async def names(self, kind: str) -> list[str]:
        """See SideStreams."""
        with translated(self._server.shown):
            found = await self._server.execute("SMEMBERS", self._keys.sides)
        # Whoever may write a stream may name others, also in bytes that are no text: nothing of HAES is called so.
        names = (name.decode(errors="replace") for name in found)
        return sorted(name for name in names if of_kind(name, kind) and len(name) <= LONGEST_NAME)

    async def drop(self, name: str, ids: Sequence[str]) -> None:
        """See SideStreams."""
        if ids:
            with translated(self._server.shown):
                await self._server.execute("XDEL", self._keys.side(name), *ids)


def _entry(entry_id: bytes, flat: Sequence[Any]) -> SideEntry:
    return SideEntry(
        entry_id.decode(),
        {name.decode(errors="replace"): value for name, value in zip(flat[::2], flat[1::2], strict=True)},
    )
