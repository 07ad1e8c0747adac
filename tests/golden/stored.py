"""Golden streams as logs: what was recorded once, to be read, folded and verified like any other log."""

import json
from pathlib import Path

from events.archive import Segment, read_segment
from events.log.memory import MemoryLog
from events.log.port import Head, RawEntry

HISTORIES = Path(__file__).parent / "histories"


def stored_entries(file: Path, last: int) -> list[RawEntry]:
    """Returns the entries of a recorded stream."""
    return list(read_segment(Segment(1, last, file)))


def stored_log(folder: Path, name: str) -> MemoryLog:
    """Returns a recorded stream as a log that can be read."""
    last = int(json.loads((folder / f"{name}.json").read_text())["n"])
    entries = stored_entries(folder / f"{name}.haes.gz", last)
    log = MemoryLog("golden")
    log._entries = entries
    log._head = Head("golden", 1, last, entries[-1][0].decode())
    return log
