"""Golden streams as logs: what was recorded once, to be read, folded and verified like any other log."""

import base64
import json
from pathlib import Path

from events.archive import Segment, read_segment
from events.log.memory import MemoryLog
from events.log.port import Head
from events.log.side import SideEntry
from haes.telemetry import STREAM

HISTORIES = Path(__file__).parent / "histories"
RELEASES = Path(__file__).parent / "releases"


def stored_log(folder: Path, name: str) -> MemoryLog:
    """Returns a recorded stream as a log that can be read, with its samples of load if there are any."""
    last = int(json.loads((folder / f"{name}.json").read_text())["n"])
    log = MemoryLog("golden")
    log._entries = list(read_segment(Segment(1, last, folder / f"{name}.haes.gz")))
    log._head = Head("golden", 1, last, log._entries[-1][0].decode())
    samples = folder / f"{name}.samples"
    if samples.exists():
        log._side._streams[STREAM] = [
            SideEntry(id_, {name: base64.b64decode(value) for name, value in fields.items()})
            for id_, fields in json.loads(samples.read_text())
        ]
    return log
