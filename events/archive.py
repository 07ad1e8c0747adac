"""Old events in files: segments of a log that are written once and checked; reading on from them is history.py's.

A segment is a gzip file of msgpack values: a header `[magic, format, log id, first n, last n]`, then blocks. A block is
a byte string that holds one msgpack array of up to a thousand entries `[stream id, [names and values in turn]]`, in
order and without a gap. (Format 1 had the entries themselves in the place of blocks.) A segment's name tells its range.
The SHA-256 over the whole file is what the log records of it.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgpack
import msgspec

from events.codec import N
from events.errors import LogTruncated, UserError
from events.log.checks import is_numbered, number_of
from events.log.port import EventLog, RawEntry

MAGIC = "haes-segment"
FORMAT = 2
# What this program can read.
FORMATS = (1, 2)
SUFFIX = ".haes.gz"
# Strength of the compression: stronger ones take four times as long for a few percent.
COMPRESSION = 6
# Bytes of a file that are unpacked at once, to ten times as many; a whole segment never has to fit into memory. Large,
# because the thread that does it waits some milliseconds for its turn before and after each.
CHUNK = 1 << 19
# What zlib has to be told so that it expects a gzip file, and checks its sum at the end.
_GZIP = zlib.MAX_WBITS | 16
# Entries of one block, as of one request to a server: what was decoded is used while it is in a core's cache.
BLOCK = 500
# Values of a header.
_HEADER = 5


_decode_block = msgspec.msgpack.Decoder(list[tuple[bytes, list[bytes]]]).decode


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
        with suppress(OSError):
            temporary.unlink()
    return Segment(first, last, path)


async def _copy(log: EventLog, file: gzip.GzipFile, first: int, last: int) -> None:
    expected = first
    async with aclosing(log.raw_chunks(first - 1, count=BLOCK)) as chunks:
        async for chunk in chunks:
            block = numbered(chunk)[: last - expected + 1]
            for entry in block:
                if number_of(entry) != expected:
                    raise LogTruncated(f"event {expected} is not in the log any more")
                expected += 1
            # A block is a value of its own, so that it can be decoded as a whole by the fastest means.
            file.write(msgpack.packb(msgpack.packb(block)))
            if expected > last:
                return
    raise LogTruncated(f"event {expected} is not in the log")


def numbered(chunk: list[RawEntry]) -> list[RawEntry]:
    """Returns the entries of a chunk that are events: what somebody else wrote into the stream is not archived."""
    return [entry for entry in chunk if is_numbered(entry)]


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


def read_blocks(segment: Segment, log_id: str | None = None) -> Generator[list[RawEntry], None, None]:
    """Yields the undecoded entries of a segment, some hundred at a time.

    Unpacking goes on in a thread while the caller works, as a server does when a stream is read.

    Args:
        segment: the segment.
        log_id: the log that it must belong to, or None for any.

    Raises:
        UserError: the file is damaged, not a segment, or belongs to another log.
    """
    expected = segment.first
    try:
        with segment.path.open("rb") as file, _Ahead(file) as ahead:
            unpacker = msgpack.Unpacker(ahead, raw=True, strict_map_key=False, max_buffer_size=0)
            _check_header(segment, next(unpacker, None), log_id)
            for value in unpacker:
                block: list[RawEntry] = _decode_block(value) if isinstance(value, bytes) else [(value[0], value[1])]
                if [int(block[place][1][N]) for place in (0, -1)] != [expected, expected + len(block) - 1]:
                    raise UserError(f"{segment.path}: event {expected} or one soon after it is missing")
                expected += len(block)
                yield block
    except (OSError, EOFError, LookupError, ValueError, TypeError, zlib.error, msgpack.UnpackException) as error:
        raise UserError(f"{segment.path}: is damaged or no segment ({error})") from error
    if expected != segment.last + 1:
        raise UserError(f"{segment.path}: ends before event {expected}")


def read_segment(segment: Segment, log_id: str | None = None) -> Generator[RawEntry, None, None]:
    """Yields the entries of a segment one by one; otherwise as `read_blocks`."""
    with closing(read_blocks(segment, log_id)) as blocks:
        for block in blocks:
            yield from block


class _Ahead:
    """A gzip file to read from, whose next part is unpacked in a thread meanwhile."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._unpacking = zlib.decompressobj(_GZIP)
        self._thread = ThreadPoolExecutor(1, "archive")
        self._next = self._thread.submit(self._unpack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def read(self, _size: int) -> bytes:
        """Returns the next part; empty at the end."""
        part = self._next.result()
        if part:
            self._next = self._thread.submit(self._unpack)
        return part

    def _unpack(self) -> bytes:
        """Unpacks a part that is not empty, but at the end.

        Raises:
            EOFError: the file was cut.
            ValueError: something follows where it should end.
            zlib.error: it is damaged.
        """
        part = b""
        while not part:
            packed = self._file.read(CHUNK)
            if self._unpacking.unused_data or (packed and self._unpacking.eof):
                raise ValueError("something follows its end")
            if not packed:
                if not self._unpacking.eof:
                    raise EOFError("it was cut")
                break
            part = self._unpacking.decompress(packed)
        return part


def _check_header(segment: Segment, header: Any, log_id: str | None) -> None:
    if (
        not isinstance(header, list)
        or len(header) != _HEADER
        or header[0] != MAGIC.encode()
        or header[1] not in FORMATS
    ):
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
    async with aclosing(log.raw_chunks(segment.first - 1)) as chunks:
        async for chunk in chunks:
            found = numbered(chunk)[:left]
            for entry in found:
                entry_id, flat = entry
                archived_id, archived = next(entries)
                if archived_id != entry_id or list(archived) != list(flat):
                    raise UserError(f"{segment.path}: event {number_of(entry)} differs from the log")
            left -= len(found)
            if not left:
                break
    for _ in entries:
        raise UserError(f"{segment.path}: the log does not have all of its events")
    return digest(segment)
