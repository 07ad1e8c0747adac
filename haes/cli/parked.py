"""`haes parked`: subjects whose events are not applied any more, and the two ways on."""

import argparse
import asyncio

from events.errors import UserError
from events.log.port import EventLog
from events.url import connect
from haes.cli.options import add_log_options, require_log
from haes.cli.show import make_console, show_tables
from haes.cli.terminal import say
from haes.live.by_hand import append_by_hand
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event
from haes.state.restore import restore_state
from replay.report import Table

STATUS_STILL_PARKED = 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("parked")
    parser.add_argument("action", choices=("list", "retry", "skip"))
    parser.add_argument("subject", nargs="?", help="with retry and skip")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if options.action != "list" and options.subject is None:
        raise UserError(f"parked {options.action}: name the subject (see haes parked list)")
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    console = make_console()
    async with connect(options.log, options.cluster) as log:
        if options.action == "retry":
            return await _retry(log, options.subject)
        state = await restore_state(log, lenient=True)
        if options.action == "list":
            rows: list[tuple[str, ...]] = [
                (subject, str(item.n), item.reason) for subject, item in sorted(state.parked.items())
            ]
            show_tables(console, [Table("Parked", ("subject", "since event", "because"), rows, "nothing")])
            return 0
        known = _parked(state, options.subject)
        # No leader is asked: one that met a newer event does not lead.
        reason, about = state.parked[options.subject].reason, f"event {known} skipped"
        await append_by_hand(log, "subject.unparked", options.subject, about=about, n=known, reason=reason)
        say(f"{options.subject} goes on without event {known}")
        return 0


def _parked(state: ClusterState, subject: str) -> int:
    if subject not in state.parked:
        names = ", ".join(sorted(state.parked)) or "nothing"
        raise UserError(f"'{subject}' is not parked; parked is {names}")
    return state.parked[subject].n


async def _retry(log: EventLog, subject: str) -> int:
    """Folds the whole stream anew with this program, and lets go of snapshots that know less."""
    _parked(await restore_state(log, lenient=True), subject)
    state = ClusterState()
    async for event in log.read_all(lenient=True):
        apply_event(state, event)
    if subject in state.parked:
        say(f"{subject} is still parked: {state.parked[subject].reason}")
        return STATUS_STILL_PARKED
    for n in await log.snapshot_numbers():
        await log.drop_snapshot(n)
    say(f"{subject} can be applied by this program; restart managers and agents with it")
    return 0
