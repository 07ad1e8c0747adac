"""Streams beside a log in memory; see `SideStreams`. Nothing ages here: a simulation is short."""

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
        self,
        name: str,
        fields: Mapping[str, str | bytes],
        *,
        keep: int,
        max_age: float | None = None,  # noqa: ARG002 - see above
    ) -> str:
        """See SideStreams."""
        milliseconds, number = self._last
        now = max(milliseconds, int(self._clock() * 1000))
        self._last = (now, number + 1 if now == milliseconds else 0)
        stream = self._streams.setdefault(name, [])
        values = {key: value.encode() if isinstance(value, str) else value for key, value in fields.items()}
        stream.append(SideEntry(f"{self._last[0]}-{self._last[1]}", values))
        del stream[:-keep]
        return stream[-1].id

    async def read(self, after: Mapping[str, str], *, count: int = READ_COUNT) -> dict[str, Sequence[SideEntry]]:
        """See SideStreams."""
        found: dict[str, Sequence[SideEntry]] = {}
        for name, position in after.items():
            entries = [entry for entry in self._streams.get(name, ()) if place_of(entry.id) > place_of(position)]
            if entries:
                found[name] = entries[:count]
        return found

    async def names(self, kind: str) -> list[str]:
        """See SideStreams."""
        return sorted(name for name in self._streams if of_kind(name, kind))

    async def drop(self, name: str, ids: Sequence[str]) -> None:
        """See SideStreams."""
        self._streams[name] = [entry for entry in self._streams.get(name, ()) if entry.id not in ids]
