"""What a service printed, read back from its two files piece by piece; knows nobody who asks.

A position names a file by its number on the disk, so that it stays true when the file takes the older one's place.
"""

from collections.abc import Collection
from pathlib import Path

from haes.drivers.process.output import OLDER
from haes.drivers.process.tail import clean

# Bytes of one answer: a few hundred lines.
ANSWER_SIZE = 64 << 10
# Lines of one answer, and characters of one line.
ANSWER_LINES, ANSWER_LENGTH = 1000, 2000


def read_said(path: Path, lines: int, after: str, secrets: Collection[str]) -> tuple[list[str], str]:
    """Returns the last lines, or those after a position; and the position after them.

    Args:
        path: of the file that is written.
        lines: how many at most.
        after: a position that an earlier call returned, or an empty text.
        secrets: values that must not be shown.
    """
    parts = [part for part in (path.with_name(path.name + OLDER), path) if part.is_file()]
    inode, _, offset = after.partition(":")
    sizes = {part: part.stat() for part in parts}
    known = next((part for part in parts if str(sizes[part].st_ino) == inode), None)
    if known is not None:
        parts = parts[parts.index(known) :]
    data, whole = b"", True
    pieces: list[tuple[Path, int, int]] = []
    for part in parts:
        begin = int(offset) if part == known else 0
        size = sizes[part].st_size
        first = max(begin, size - ANSWER_SIZE)
        with part.open("rb") as file:
            file.seek(first)
            taken = file.read(max(0, size - first))
        if first > begin:
            data, whole, pieces = b"", False, []
        data += taken
        pieces.append((part, first, len(taken)))
    # What is not a whole line yet waits for its end, unless it is all that there is to show.
    end = data.rfind(b"\n") + 1
    left = len(data) - end if known is not None or end else 0
    shown = clean(data[: len(data) - left], secrets, whole=whole, lines=min(lines, ANSWER_LINES), length=ANSWER_LENGTH)
    for part, first, length in reversed(pieces):
        if left <= length:
            return shown, f"{sizes[part].st_ino}:{first + length - left}"
        left -= length
    return shown, after
