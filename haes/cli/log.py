"""`haes log`: the log itself: what it is, accepting it when it is not what it was, and the way back when it is lost."""

import argparse
import asyncio
import getpass
from contextlib import AsyncExitStack
from pathlib import Path

from events.errors import LogConflict, LogTruncated, UserError
from events.log.port import EventLog
from events.log.redis import RedisLog
from events.log.redis_errors import hide_password
from events.url import connect, open_log
from haes.cli.options import add_log_options, require_log
from haes.cli.terminal import say
from haes.live.by_hand import append_by_hand
from haes.live.restoring import LOST_NAMED, Part, Plan, carry_out, make_plan, part_of_archive, part_of_log
from haes.state.restore import restore_state


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("log")
    parser.add_argument(
        "action",
        choices=("show", "accept-regression", "restore"),
        help="accept-regression: let managers and agents go on with this log although they knew another one; "
        "restore: put a lost log together again from what is left of it",
    )
    parser.add_argument(
        "--from",
        dest="sources",
        metavar="URL",
        action="append",
        default=[],
        help="restore: another log with events of this one, such as embedded:FOLDER with an older copy of its file",
    )
    parser.add_argument(
        "--archive",
        dest="archives",
        type=Path,
        metavar="FOLDER",
        action="append",
        default=[],
        help="restore: an archive",
    )
    parser.add_argument("--yes", action="store_true", help="restore: do it; without this it is only shown")
    parser.add_argument("--dry-run", action="store_true", help="restore: only show what would be done")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    if options.action == "restore":
        if options.log is None:
            raise UserError("--log URL is missing (or set $HAES_LOG)")
        asyncio.run(_restore(options))
        return 0
    require_log(options)
    asyncio.run(_run(options))
    return 0


async def _run(options: argparse.Namespace) -> None:
    async with connect(options.log, options.cluster) as log:
        head = await log.head()
        say(
            f"log {head.log_id} of cluster '{options.cluster}': generation {head.generation}, {head.n} events",
        )
        for warning in log.warnings:
            say(f"warning: {warning}")
        if options.action == "show":
            return
        await _check_leads_to_a_state(log)
        about = f"{head.n} events"
        await append_by_hand(log, "log.accepted", "log", about=about, n=head.n, log_id=head.log_id)
        say("accepted; managers and agents that waited go on with it")


async def _check_leads_to_a_state(log: EventLog) -> None:
    """Refuses to accept what no process can begin with: it would wait for the beginning for ever.

    Raises:
        UserError: the log has lost its beginning, and no snapshot stands for it.
    """
    try:
        await restore_state(log, lenient=True)
    except LogTruncated as fault:
        raise UserError(
            f"{fault}, and no snapshot stands for them: accepting helps nobody; see 'haes log restore'"
        ) from fault


async def _restore(options: argparse.Namespace) -> None:
    log = open_log(options.log, options.cluster)
    if not isinstance(log, RedisLog):
        raise UserError(f"{options.log}: only a log on a server can be restored")
    log.whole = False
    async with AsyncExitStack() as stack:
        await log.open()
        stack.push_async_callback(log.close)
        parts: list[Part] = []
        for url in options.sources:
            other = await stack.enter_async_context(connect(url, options.cluster))
            part = await part_of_log(hide_password(url), other, await other.head())
            if part is None:
                raise UserError(f"{hide_password(url)}: there are no events of cluster '{options.cluster}'")
            parts.append(part)
        parts += [part_of_archive(folder) for folder in options.archives]
        plan = await make_plan(log, hide_password(options.log), parts)
        _show(plan)
        if plan.leader is not None:
            raise UserError(f"{plan.leader} leads: the log works; nothing was changed")
        if plan.complete:
            raise UserError("nothing that was found goes beyond what is there; nothing was changed")
        if not options.yes or options.dry_run:
            say("nothing was changed; --yes does it")
            return
        try:
            n = await carry_out(log, plan, f"operator/{getpass.getuser()}")
        except LogConflict as refused:
            raise UserError(str(refused)) from refused
        say(f"restored: event {n} tells of it; managers and agents that waited go on with it")


def _show(plan: Plan) -> None:
    """Says what there is and what would become of it."""
    found, lines = plan.found, []
    if found is None:
        lines.append("there now: no log")
    else:
        who = "nobody leads" if plan.leader is None else f"{plan.leader} leads"
        lines.append(f"there now: log {found.log_id}, generation {found.generation}, {found.n} events, {who}")
    if plan.base[0]:
        lines.append(f"a snapshot gives the state at event {plan.base[0]}")
    lines += [f"events {first} to {last}: from {part.name}" for part, first, last in plan.used]
    lines += plan.refused
    missing = plan.known_n - plan.end[0]
    if missing:
        lines.append(
            f"not recovered: events {plan.end[0] + 1} to {plan.known_n} ({missing}), which are known to have been"
        )
    lines += [f"  {n} {type_} {subject}" for n, type_, subject in plan.lost[:LOST_NAMED]]
    if plan.discarded:
        kinds = ", ".join(f"{count} {type_}" for type_, count in plan.discarded.items())
        lines.append(f"thrown away, of the other log that is there now: {kinds}")
    lines.append(
        f"becomes: log {plan.log_id}, generation {plan.generation}, {plan.end[0]} events; no right of before is good"
    )
    lines += [
        f"kept: {count} requests of {user} that nobody has received" for user, count in sorted(plan.requests.items())
    ]
    for line in lines:
        say(line)
