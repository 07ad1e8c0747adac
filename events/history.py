"""A log from its first event on, whether still in the stream or archived: one reader for both; changes nothing.

Where the stream was trimmed, entries come from segments, and from the stream after that. Between the two, and within
the segments, nothing is missing; within the stream, whoever decodes the entries looks at every number anyway.
"""

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path

from events.archive import Segment, digest, read_blocks, segments_in
from events.envelope import Event
from events.errors import LogTruncated, UserError
from events.log.checks import decode_after, is_numbered, number_of
from events.log.port import EventLog, RawEntry


class History:
    """All events of a log.

    Attributes:
        log: the log.
        folder: where its segments lie, or None.
        recorded: file name -> SHA-256, as the log recorded them; None to read segments without comparing.
        lenient: let stand-ins take the place of entries that cannot be understood, as `EventLog.read` does.
    """

    def __init__(
        self,
        log: EventLog,
        folder: Path | None = None,
        recorded: Mapping[str, str] | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        self.log = log
        self.lenient = lenient
        self.folder = folder
        self.recorded = recorded
        self._checked: set[Path] = set()

    async def first_in_stream(self) -> int:
        """Returns the number of the oldest event that the stream still has; one past the end when it has none.

        Where the oldest entry is not one of HAES it is 1, so that whoever reads it says what is wrong with it.
        """
        async with aclosing(self.log.raw_chunks(0, count=1)) as chunks:
            async for chunk in chunks:
                return read_number(chunk[0]) or 1
        return (await self.log.head()).n + 1

    async def chunks(self, after: int = 0, last: int | None = None) -> AsyncGenerator[list[RawEntry], None]:
        """Yields the entries after a number, up to another one or the end, some hundred at a time, as fast as possible.

        Nothing else of the program runs meanwhile (see `EventLog.bulk_chunks`).

        Raises:
            LogTruncated: neither the stream nor the folder has an event.
            UserError: a segment is damaged, belongs to another log, or is not the one that was recorded.
        """
        head = await self.log.head()
        end = head.n if last is None else min(last, head.n)
        if after >= end:
            return
        first = await self.first_in_stream()
        if self.folder is not None and first > after + 1:
            for chunk in self._archived(self.folder, head.log_id, after, min(first - 1, end)):
                yield chunk
                after += len(chunk)
        if after >= end:
            return
        async with aclosing(self.log.bulk_chunks(after)) as chunks:
            async for chunk in chunks:
                if (read_number(chunk[0]) or 0) > after + 1:
                    break
                after = _lastread_number(chunk, after)
                yield chunk if after <= end else _up_to(chunk, end)
                # Behind the log's last event there may be entries that are none.
                if after > end or (after == end and last is not None):
                    return
        if after < end:
            raise self._gone(after + 1)

    async def events(self, after: int = 0, last: int | None = None) -> AsyncGenerator[Event, None]:
        """Yields the same, decoded.

        Raises:
            LogFault: as by `chunks`, or an entry cannot be understood; those before it have been yielded.
        """
        async with aclosing(self.chunks(after, last)) as chunks:
            async for chunk in chunks:
                rest = chunk
                while rest:
                    events = decode_after(after, rest, lenient=self.lenient)
                    for event in events:
                        yield event
                    after = events[-1].n
                    rest = rest[len(events) :]

    def segments(self) -> list[Segment]:
        """Returns the segments of the folder, by range."""
        return [] if self.folder is None else segments_in(self.folder)

    def blocks(self, segment: Segment, log_id: str) -> Generator[list[RawEntry], None, None]:
        """Yields the entries of a segment; its file is compared with what was recorded when it is first read.

        Raises:
            UserError: as by `chunks`.
        """
        if self.recorded is not None and segment.path not in self._checked:
            known = self.recorded.get(segment.path.name)
            if known is None:
                raise UserError(f"{segment.path}: the log has no record of this segment (haes archive check)")
            if known != digest(segment):
                raise UserError(f"{segment.path}: is not the file that was recorded (its SHA-256 differs)")
            self._checked.add(segment.path)
        return read_blocks(segment, log_id)

    def _archived(self, folder: Path, log_id: str, after: int, end: int) -> Generator[list[RawEntry], None, None]:
        """Yields the entries after a number up to another one from segments."""
        segments = segments_in(folder)
        while after < end:
            # Of several that go on from here, the one that reaches furthest.
            fitting = [segment for segment in segments if segment.first <= after + 1 <= segment.last]
            if not fitting:
                raise self._gone(after + 1)
            segment = max(fitting, key=lambda segment: segment.last)
            with closing(self.blocks(segment, log_id)) as blocks:
                number = segment.first - 1
                for block in blocks:
                    kept = block[max(0, after - number) : max(0, end - number)]
                    number += len(block)
                    if kept:
                        yield kept
                        after += len(kept)
                    if after >= end:
                        return

    def _gone(self, n: int) -> LogTruncated:
        if self.folder is None:
            return LogTruncated(f"event {n} is not in the stream any more; whoever trimmed it has it in an archive")
        return LogTruncated(f"event {n} is neither in the stream nor in a segment of {self.folder}")


def _lastread_number(chunk: Sequence[RawEntry], after: int) -> int:
    """Returns the number of the last event in a chunk; where none of its entries is one, the number before it."""
    return next((number for entry in reversed(chunk) if (number := read_number(entry))), after)


def _up_to(chunk: list[RawEntry], end: int) -> list[RawEntry]:
    """Returns the entries of a chunk before the first event that lies behind another one."""
    behind = (place for place, entry in enumerate(chunk) if (read_number(entry) or 0) > end)
    return chunk[: next(behind, len(chunk))]


def read_number(entry: RawEntry) -> int | None:
    """Returns the number of an entry, or None where it has none."""
    return number_of(entry) if is_numbered(entry) else None
