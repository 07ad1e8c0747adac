"""Old events in files: segments of a log that are written once, checked, and read as if they were in the stream.

A segment is a gzip file of msgpack values: a header `[magic, format, log id, first n, last n]`, then one entry
`[stream id, [names and values in turn]]` for each event, in order and without a gap. Its name tells the range. The
SHA-256 over the whole file is what the log records of it.
"""

import gzip
import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from events.codec import N
from events.errors import LogTruncated, UserError
from events.log.port import READ_COUNT, EventLog, RawEntry

MAGIC = "haes-segment"
FORMAT = 1
SUFFIX = ".haes.gz"
# Strength of the compression: stronger ones take four times as long for a few percent.
COMPRESSION = 6
# Bytes read at once; a whole segment never has to fit into memory.
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A file with the events `first` to `last` of a log."""

    first: int
    last: int
    path: Path


async def write_segment(log: EventLog, folder: Path, first: int, last: int) -> Segment:
    """Writes the events `first` to `last` into a file of a folder.

    The file appears under its name only when it is whole and on disk.

    Raises:
        UserError: the folder cannot be written, or the range is empty.
        LogTruncated: the log does not have all of these events any more.
    """
    if last < first:
        raise UserError(f"{folder}: there is nothing to archive (events {first} to {last})")
    path = folder / f"{first:012d}-{last:012d}{SUFFIX}"
    temporary = path.with_suffix(".writing")
    head = await log.head()
    try:
        folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - a folder is made once
        with temporary.open("wb") as raw, gzip.GzipFile("", "wb", COMPRESSION, raw, mtime=0) as file:
            file.write(msgpack.packb([MAGIC, FORMAT, head.log_id, first, last]))
            await _copy(log, file, first, last)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        temporary.unlink(missing_ok=True)
    return Segment(first, last, path)


async def _copy(log: EventLog, file: gzip.GzipFile, first: int, last: int) -> None:
    expected = first
    async for chunk in log.raw_chunks(first - 1):
        for entry_id, flat in chunk:
            if int(flat[N]) != expected:
                raise LogTruncated(f"event {expected} is not in the log any more")
            file.write(msgpack.packb([entry_id, flat]))
            if expected == last:
                return
            expected += 1
    raise LogTruncated(f"event {expected} is not in the log")


def digest(segment: Segment) -> str:
    """Returns the SHA-256 of a segment's file, as hexadecimal digits."""
    with segment.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def segments_in(folder: Path) -> list[Segment]:
    """Returns the segments of a folder, by range.

    Raises:
        UserError: a file has the name of a segment but no range in it.
    """
    segments = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        first, _, last = path.name.removesuffix(SUFFIX).partition("-")
        if not first.isdigit() or not last.isdigit():
            raise UserError(f"{path}: is no segment; expected FIRST-LAST{SUFFIX}")
        segments.append(Segment(int(first), int(last), path))
    return segments


def read_segment(segment: Segment, log_id: str | None = None) -> Iterator[RawEntry]:
    """Yields the undecoded entries of a segment.

    Args:
        segment: the segment.
        log_id: the log that it must belong to, or None for any.

    Raises:
        UserError: the file is damaged, not a segment, or belongs to another log.
    """
    try:
        with gzip.open(segment.path, "rb") as file:
            unpacker = msgpack.Unpacker(file, read_size=CHUNK, raw=True, strict_map_key=False)
            _check_header(segment, next(unpacker, None), log_id)
            expected = segment.first
            for entry_id, flat in unpacker:
                if int(flat[N]) != expected:
                    raise UserError(f"{segment.path}: event {expected} is missing")
                yield entry_id, flat
                expected += 1
    except (OSError, EOFError, ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
        raise UserError(f"{segment.path}: is damaged or no segment ({error})") from error
    if expected != segment.last + 1:
        raise UserError(f"{segment.path}: ends before event {expected}")


def _check_header(segment: Segment, header: Any, log_id: str | None) -> None:
    if not isinstance(header, list) or header[:2] != [MAGIC.encode(), FORMAT]:
        raise UserError(f"{segment.path}: is no segment that this program can read")
    if header[3:5] != [segment.first, segment.last]:
        raise UserError(f"{segment.path}: holds events {header[3]} to {header[4]}, not what its name says")
    if log_id is not None and header[2] != log_id.encode():
        raise UserError(f"{segment.path}: belongs to another log ({header[2].decode()})")


async def check_segment(log: EventLog, segment: Segment) -> str:
    """Reads a segment back, compares it with the log event by event, and returns its SHA-256.

    For a process other than the one that wrote it, before anything is trimmed.

    Raises:
        UserError: the file is damaged or differs from the log.
    """
    head = await log.head()
    entries = read_segment(segment, head.log_id)
    left = segment.last - segment.first + 1
    async for chunk in log.raw_chunks(segment.first - 1):
        for entry_id, flat in chunk[:left]:
            archived_id, archived = next(entries)
            if archived_id != entry_id or list(archived) != list(flat):
                raise UserError(f"{segment.path}: event {int(flat[N])} differs from the log")
        left -= min(left, len(chunk))
        if not left:
            break
    for _ in entries:
        raise UserError(f"{segment.path}: the log does not have all of its events")
    return digest(segment)


async def raw_history(log: EventLog, folder: Path | None, after: int = 0) -> AsyncIterator[list[RawEntry]]:
    """Yields all events after a number, undecoded: archived ones from files, the others from the stream.

    Raises:
        LogTruncated: neither the folder nor the stream has an event.
        UserError: a segment is damaged or belongs to another log.
    """
    if folder is not None:
        head = await log.head()
        for segment in segments_in(folder):
            if segment.last <= after or segment.first > after + 1:
                continue
            chunk: list[RawEntry] = []
            for entry in read_segment(segment, head.log_id):
                if int(entry[1][N]) > after:
                    chunk.append(entry)
                if len(chunk) == READ_COUNT:
                    yield chunk
                    chunk = []
            if chunk:
                yield chunk
            after = segment.last
    async for chunk in log.raw_chunks(after):
        if int(chunk[0][1][N]) != after + 1:
            raise LogTruncated(f"event {after + 1} is neither in the archive nor in the stream")
        yield chunk
        after = int(chunk[-1][1][N])


async def trim_limit(log: EventLog, folder: Path, readers: dict[str, int]) -> int:
    """Returns the number up to which events may be trimmed: archived, below a snapshot, and read by every reader.

    Args:
        log: the log.
        folder: where the segments lie; only ranges without a gap from the start count.
        readers: reader -> number of the last event that it has read.
    """
    archived = 0
    for segment in segments_in(folder):
        if segment.first <= archived + 1:
            archived = max(archived, segment.last)
    snapshots = await log.snapshot_numbers()
    return min([archived, snapshots[-1] if snapshots else 0, *readers.values()])
