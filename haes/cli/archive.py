"""`haes archive`: old events into files, the files read back, and only then the stream trimmed.

The three steps are commands of their own, so that whoever reads a segment back is another process than its writer.
"""

import argparse
import asyncio
import json
from pathlib import Path

from events.archive import Segment, segments_in
from events.log.port import EventLog
from events.url import connect
from haes.archive import steps
from haes.cli.options import add_log_options, require_log
from haes.cli.terminal import say


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("archive")
    step_parsers = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, text in (
        ("write", "write what is not archived yet into segments, up to a fresh snapshot"),
        ("check", "read segments back, compare them with the stream, and record what was found good"),
        ("trim", "remove from the stream what lies in recorded segments and below the last snapshot"),
        ("list", "show the segments"),
    ):
        step = step_parsers.add_parser(name, help=text)
        step.add_argument("folder", type=Path, metavar="FOLDER", help="where the segments lie")
        if name in {"write", "trim"}:
            step.add_argument(
                "--keep", type=_count, default=0, metavar="N", help="leave the last N events alone (default 0)"
            )
        if name == "write":
            step.add_argument(
                "--segment-events",
                type=_size,
                default=steps.SEGMENT_EVENTS,
                metavar="N",
                help=f"events of one segment (default {steps.SEGMENT_EVENTS})",
            )
            step.add_argument("--whole", action="store_true", help="write no segment with fewer events than that")
        step.add_argument("--json", action="store_true", help="print JSON")
        add_log_options(step, default=None)
    parser.set_defaults(run=run)


def _count(text: str, lowest: int = 0) -> int:
    if not text.isdigit() or int(text) < lowest:
        raise argparse.ArgumentTypeError(f"cannot be '{text}'; allowed is a number of events, from {lowest} on")
    return int(text)


def _size(text: str) -> int:
    return _count(text, 1)


def run(options: argparse.Namespace) -> int:
    """Runs one step and returns the exit status."""
    require_log(options)
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    actions = {"write": _write, "check": _check, "trim": _trim, "list": _list}
    async with connect(options.log, options.cluster) as log:
        rows = await actions[options.step](log, options)
    if options.json:
        print(json.dumps(rows))  # noqa: T201
    else:
        for row in rows:
            say("  ".join(f"{key} {value}" for key, value in row.items()))
        say(f"{len(rows)} segments" if options.step != "trim" else "done")
    return 0


def _row(segment: Segment, **more: object) -> dict[str, object]:
    return {"first": segment.first, "last": segment.last, "file": segment.path.name, **more}


async def _write(log: EventLog, options: argparse.Namespace) -> list[dict[str, object]]:
    written = await steps.write(
        log, options.folder, segment_events=options.segment_events, keep=options.keep, whole=options.whole
    )
    return [_row(segment) for segment in written]


async def _check(log: EventLog, options: argparse.Namespace) -> list[dict[str, object]]:
    return [_row(segment, sha256=found) for segment, found in await steps.check(log, options.folder)]


async def _trim(log: EventLog, options: argparse.Namespace) -> list[dict[str, object]]:
    trimmed = await steps.trim(log, options.folder, keep=options.keep)
    held = {} if trimmed.held_back_by is None else {"held back by": trimmed.held_back_by}
    return [{"up to": trimmed.up_to, "removed": trimmed.removed, **held}]


async def _list(log: EventLog, options: argparse.Namespace) -> list[dict[str, object]]:
    recorded = await steps.recorded_segments(log, options.folder)
    return [_row(segment, recorded=segment.path.name in recorded) for segment in segments_in(options.folder)]
