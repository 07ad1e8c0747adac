"""`haes archive`: old events into files, the files read back, and only then the stream trimmed.

The three steps are commands of their own, so that whoever reads a segment back is another process than its writer.
"""

import argparse
import asyncio
import json
from pathlib import Path

from events.archive import Segment, check_segment, digest, segments_in, trim_limit, write_segment
from events.errors import UserError
from events.history import History
from events.log.port import EventLog
from events.url import connect
from haes.cli.options import add_log_options, require_log
from haes.state.batch import Batch
from haes.state.restore import replay_state, save_state

# Events of one segment: a file of some 10 MB.
SEGMENT_EVENTS = 250_000
# Seconds for which the archivist holds its lease: an append follows at once.
LEASE_TERM = 30.0
LEASE = "archivist"
AUTHOR = "archive/check"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("archive", help="keep old events in files and trim the stream")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, text in (
        ("write", "write what is not archived yet into segments, up to a fresh snapshot"),
        ("check", "read segments back, compare them with the stream, and record what was found good"),
        ("trim", "remove from the stream what lies in recorded segments and below the last snapshot"),
        ("list", "show the segments"),
    ):
        step = steps.add_parser(name, help=text)
        step.add_argument("folder", type=Path, metavar="FOLDER", help="where the segments lie")
        step.add_argument("--json", action="store_true", help="print JSON")
        add_log_options(step, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs one step and returns the exit status."""
    require_log(options)
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    steps = {"write": _write, "check": _check, "trim": _trim, "list": _list}
    async with connect(options.log, options.cluster) as log:
        rows = await steps[options.step](log, options.folder)
    if options.json:
        print(json.dumps(rows))  # noqa: T201
    else:
        for row in rows:
            print("  ".join(f"{key} {value}" for key, value in row.items()))  # noqa: T201
        print(f"{len(rows)} segments" if options.step != "trim" else "done")  # noqa: T201
    return 0


def _row(segment: Segment, **more: object) -> dict[str, object]:
    return {"first": segment.first, "last": segment.last, "file": segment.path.name, **more}


async def _write(log: EventLog, folder: Path) -> list[dict[str, object]]:
    """Writes segments up to the log's end, which a snapshot then covers."""
    state = await replay_state(History(log, folder))
    await save_state(log, state)
    archived = max((segment.last for segment in segments_in(folder)), default=0)
    rows = []
    while archived < state.n:
        last = min(archived + SEGMENT_EVENTS, state.n)
        rows.append(_row(await write_segment(log, folder, archived + 1, last)))
        archived = last
    return rows


async def _recorded(log: EventLog, folder: Path) -> dict[str, str]:
    """Returns file -> digest for every segment that was found good, also when its record was trimmed since."""
    return (await replay_state(History(log, folder))).archived


async def _check(log: EventLog, folder: Path) -> list[dict[str, object]]:
    recorded = await _recorded(log, folder)
    rows = []
    for segment in segments_in(folder):
        if segment.path.name in recorded:
            continue
        found = await check_segment(log, segment)
        token = await log.acquire(LEASE, AUTHOR, ttl=LEASE_TERM)
        batch = Batch(None, AUTHOR, await log.now())
        batch.emit(
            "archive.written",
            "archive",
            about=segment.path.name,
            first=segment.first,
            last=segment.last,
            sha256=found,
            file=segment.path.name,
        )
        await log.append(batch.events, token=token)
        await log.release(token)
        rows.append(_row(segment, sha256=found))
    return rows


async def _trim(log: EventLog, folder: Path) -> list[dict[str, object]]:
    recorded = await _recorded(log, folder)
    good = 0
    for segment in segments_in(folder):
        if segment.first > good + 1 or segment.path.name not in recorded:
            break
        if digest(segment) != recorded[segment.path.name]:
            raise UserError(f"{segment.path}: is not the file that was recorded; nothing was trimmed")
        good = segment.last
    limit = min(good, await trim_limit(log, folder, {}))
    return [{"up to": limit, "removed": await log.trim(limit)}]


async def _list(log: EventLog, folder: Path) -> list[dict[str, object]]:
    recorded = await _recorded(log, folder)
    return [_row(segment, recorded=segment.path.name in recorded) for segment in segments_in(folder)]
