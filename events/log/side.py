"""Small streams beside a log: what operators ask for, samples of load. Never the truth, capped, and read by position.

Knows nothing of what an entry means. A stream's name is `KIND` or `KIND:PART`, of which a server can grant each part to
another user.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The stream id before the first entry.
START_ID = "0-0"
# Entries per read: enough for every sample of a term or every request of a round.
READ_COUNT = 1000


@dataclass(frozen=True, slots=True)
class SideEntry:
    """An entry: its id (`1764572323123-0`, milliseconds of the server's clock first) and its fields."""

    id: str
    fields: Mapping[str, bytes]


class SideStreams(ABC):
    """The streams beside one cluster's log. Every method raises `LogUnavailable` when the server cannot be reached."""

    @abstractmethod
    async def add(
        self, name: str, fields: Mapping[str, str | bytes], *, keep: int, max_age: float | None = None
    ) -> str:
        """Adds an entry and returns its id.

        Args:
            name: of the stream.
            fields: name -> value.
            keep: about how many entries the stream may keep.
            max_age: seconds after which entries may go, None for never.
        """

    @abstractmethod
    async def read(self, after: Mapping[str, str], *, count: int = READ_COUNT) -> dict[str, Sequence[SideEntry]]:
        """Returns stream -> the entries after a position (`START_ID` for all), for streams that have any."""

    async def read_all(self, name: str, after: str = START_ID) -> list[SideEntry]:
        """Returns every entry of one stream after a position, however many there are."""
        found: list[SideEntry] = []
        while part := (await self.read({name: found[-1].id if found else after})).get(name):
            found += part
        return found

    @abstractmethod
    async def names(self, kind: str) -> list[str]:
        """Returns the names of the streams of a kind, sorted."""

    @abstractmethod
    async def drop(self, name: str, ids: Sequence[str]) -> None:
        """Removes entries that were dealt with; nothing happens for those that are gone."""


def of_kind(name: str, kind: str) -> bool:
    """Returns whether a stream is of a kind."""
    return name == kind or name.startswith(f"{kind}:")


def place_of(entry_id: str) -> tuple[int, int]:
    """Returns where an entry stands in time: milliseconds and the number within them, for comparing ids."""
    milliseconds, _, number = entry_id.partition("-")
    return int(milliseconds), int(number or 0)
