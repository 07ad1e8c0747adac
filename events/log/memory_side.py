"""Streams beside a log in memory; see `SideStreams`."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from events.log.side import READ_COUNT, SideEntry, SideStreams, of_kind, place_of


class MemorySideStreams(SideStreams):
    """The streams beside a log in memory."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Makes them.

        Args:
            clock: returns seconds.
        """
        self._clock = clock
        self._streams: dict[str, list[SideEntry]] = {}
        self._last = (0, 0)

    async def add(
        self, name: str, fields: Mapping[str, str | bytes], *, keep: int, max_age: float | None = None
    ) -> str:
        """See SideStreams."""
        milliseconds, number = self._last
        now = max(milliseconds, int(self._clock() * 1000))
        self._last = (now, number + 1 if now == milliseconds else 0)
        stream = self._streams.setdefault(name, [])
        values = {key: value.encode() if isinstance(value, str) else value for key, value in fields.items()}
        stream.append(SideEntry(f"{self._last[0]}-{self._last[1]}", values))
        del stream[:-keep]
        if max_age is not None:
            oldest = (now - int(max_age * 1000), 0)
            while place_of(stream[0].id) < oldest:
                del stream[0]
        return stream[-1].id

    async def read(self, after: Mapping[str, str], *, count: int = READ_COUNT) -> dict[str, Sequence[SideEntry]]:
        """See SideStreams."""
        found: dict[str, Sequence[SideEntry]] = {}
        for name, position in after.items():
            stream = self._streams.get(name, [])
            first = bisect_right(stream, place_of(position), key=_place)
            if first < len(stream):
                found[name] = stream[first : first + count]
        return found

    async def names(self, kind: str) -> list[str]:
        """See SideStreams."""
        return sorted(name for name in self._streams if of_kind(name, kind))

    async def drop(self, name: str, ids: Sequence[str]) -> None:
        """See SideStreams."""
        self._streams[name] = [entry for entry in self._streams.get(name, ()) if entry.id not in ids]

    def fork(self) -> "MemorySideStreams":
        """Returns streams of their own that begin as these are now."""
        twin = MemorySideStreams(self._clock)
        twin._streams = {name: list(entries) for name, entries in self._streams.items()}
        twin._last = self._last
        return twin


def _place(entry: SideEntry) -> tuple[int, int]:
    return place_of(entry.id)
