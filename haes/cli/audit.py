"""`haes audit`: reports for auditors, and seals that prove that the record is whole."""

import argparse
import asyncio
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from events.errors import UserError
from events.log.port import EventLog
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, require_log
from haes.cli.show import make_console, show_tables
from haes.cli.status import time_of
from haes.cli.terminal import one_line, raw_stream, say
from replay.audit import report as reports
from replay.audit.anchors import Anchor, open_anchor
from replay.audit.check import SealReport, check_seals, compare_places
from replay.audit.seals import Seal, keep_beside, make_seals, seals_beside
from replay.history import open_history
from replay.points import find_point
from replay.report import Table

FORMATS = ("text", "jsonl", "csv")
# Bytes of a key: shorter ones could be guessed.
SHORTEST_KEY = 16


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("audit")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    report = steps.add_parser("report", help="who commanded what, what was decided, what failed")
    report.add_argument("--from", dest="from_", metavar="POINT", help="only after it: a number, an id, a time, or -5m")
    report.add_argument("--until", metavar="POINT", help="only up to it")
    report.add_argument("--format", choices=FORMATS, default="text")
    report.add_argument("--json", action="store_true", help="the same as --format jsonl")
    seal = steps.add_parser("seal", help="seal what is not sealed yet, or check what was sealed")
    seal.add_argument("--check", action="store_true", help="compare the stream with its seals; status 1 if it differs")
    seal.add_argument(
        "--anchor", action="append", default=[], metavar="WHERE", help="file:PATH, git:FOLDER, syslog:, webhook:URL"
    )
    seal.add_argument("--key-file", type=Path, metavar="FILE", help="seal with HMAC and the key in this file")
    seal.add_argument("--json", action="store_true", help="print JSON")
    for step in (report, seal):
        add_archive_option(step)
        add_log_options(step, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs one step and returns the exit status."""
    require_log(options)
    if options.step == "report":
        asyncio.run(_report(options))
        return 0
    return asyncio.run(_seal(options))


async def _report(options: argparse.Namespace) -> None:
    async with connect(options.log, options.cluster) as log:
        history = await open_history(log, options.archive)
        first = 0 if options.from_ is None else (await find_point(history, options.from_)).n
        last = (await log.head()).n if options.until is None else (await find_point(history, options.until)).n
        table = reports.rows([event async for event in history.events(first, last)])
    if options.json or options.format == "jsonl":
        print(reports.to_json_lines(table), end="")  # noqa: T201
    elif options.format == "csv":
        # The format wants line breaks of its own, so it goes below the wrapping, cell by cell cleaned.
        raw_stream(sys.stdout).write(reports.to_csv([_clean(row) for row in table]))
    else:
        cells: list[tuple[str, ...]] = [
            (str(row.n), time_of(row.at), row.kind, row.who, row.subject, row.text, row.because_of) for row in table
        ]
        columns = ("event", "at", "", "who", "about", "what", "because of")
        show_tables(make_console(), [Table(f"Events {first + 1} to {last}", columns, cells, "nothing to report")])


def _clean(row: reports.Row) -> reports.Row:
    texts: dict[str, Any] = {name: one_line(value) for name, value in asdict(row).items() if isinstance(value, str)}
    return replace(row, **texts)


async def _seal(options: argparse.Namespace) -> int:
    key = None if options.key_file is None else _key(options.key_file)
    anchors = [open_anchor(name) for name in options.anchor]
    async with connect(options.log, options.cluster) as log:
        if options.check:
            return await _check(log, options, anchors, key)
        beside = await seals_beside(log)
        known = _anchored(anchors, log.cluster) or beside
        made = await make_seals(log, known, key, options.archive)
        for anchor in anchors:
            have = anchor.read(log.cluster)
            # An anchor that is new gets the whole chain.
            new = made if have is None else [seal for seal in [*known, *made] if seal.number > len(have)]
            if new:
                anchor.add(new)
        await keep_beside(log, [seal for seal in [*known, *made] if seal.number > len(beside)])
    last = made[-1] if made else known[-1] if known else None
    said: dict[str, Any] = {
        "sealed": len(made),
        "up to": last.last if last else 0,
        "digest": last.digest if last else None,
    }
    if options.json:
        print(json.dumps(said))  # noqa: T201
    else:
        where = ", ".join(options.anchor) or "nowhere outside the log (--anchor)"
        say(f"{said['sealed']} new seals, up to event {said['up to']}, digest {said['digest']}; anchored {where}")
    return 0


def _anchored(anchors: list[Anchor], cluster: str) -> list[Seal]:
    """Returns the longest chain that an anchor knows."""
    chains = [anchor.read(cluster) or [] for anchor in anchors]
    return max(chains, key=len, default=[])


async def _check(log: EventLog, options: argparse.Namespace, anchors: list[Anchor], key: bytes | None) -> int:
    beside = await seals_beside(log)
    readable = [(anchor.name, seals) for anchor in anchors if (seals := anchor.read(log.cluster)) is not None]
    if anchors and not readable:
        raise UserError(f"{anchors[0].name}: cannot be read back; check against file: or git:")
    report = SealReport()
    for name, seals in readable or [("beside the log", beside)]:
        if not seals:
            raise UserError(f"{name}: there is no seal of cluster '{log.cluster}'")
        found = await check_seals(log, seals, key, options.archive)
        found.findings += compare_places(beside, seals, name)
        report.findings += [finding for finding in found.findings if finding not in report.findings]
        report.sealed, report.head, report.seals = max(report.sealed, found.sealed), found.head, found.seals
    if options.json:
        data = {
            "findings": report.findings,
            "sealed": report.sealed,
            "unsealed": report.unsealed,
            "seals": report.seals,
        }
        print(json.dumps(data))  # noqa: T201
    else:
        for finding in report.findings:
            say(f"! {finding}")
        say(f"{report.seals} seals up to event {report.sealed}: {len(report.findings)} findings")
        if report.unsealed:
            first = report.sealed + 1
            say(f"events {first} to {report.head} ({report.unsealed}) are not sealed; nothing is said about them")
        if not anchors:
            say("the seals beside the log can be rewritten together with it; give an --anchor outside")
    return int(bool(report.findings))


def _key(path: Path) -> bytes:
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if len(key) < SHORTEST_KEY:
        raise UserError(f"{path}: the key has {len(key)} bytes; at least {SHORTEST_KEY} are needed")
    return key
