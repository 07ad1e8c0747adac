"""Records the stream of a cluster as a golden history: `python tests/golden/record.py URL CLUSTER NAME`.

A history is a segment with the raw entries, and the state that they must fold to for ever. Both are never edited, only
added to; their sums stand in SHA256SUMS.
"""

import asyncio
import hashlib
import json
import sys
from pathlib import Path

from events.archive import write_segment
from events.url import connect
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event

FOLDER = Path(__file__).parent / "histories"


async def record(url: str, cluster: str, name: str) -> None:
    """Writes the files of a history."""
    async with connect(url, cluster) as log:
        state = ClusterState()
        async for event in log.read_all(lenient=True):
            apply_event(state, event)
        segment = await write_segment(log, FOLDER / name, 1, state.n)
    path = FOLDER / f"{name}.haes.gz"
    segment.path.replace(path)
    segment.path.parent.rmdir()
    (FOLDER / f"{name}.json").write_text(json.dumps(state.to_data(), indent=1, sort_keys=True) + "\n")
    write_sums()


def write_sums() -> None:
    """Adds the sums of files that have none yet."""
    sums = FOLDER / "SHA256SUMS"
    known = dict(line.split("  ")[::-1] for line in sums.read_text().splitlines()) if sums.exists() else {}
    for path in sorted(FOLDER.iterdir()):
        if path != sums:
            known.setdefault(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
    sums.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(known.items())))


if __name__ == "__main__":
    asyncio.run(record(*sys.argv[1:]))
