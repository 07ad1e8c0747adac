"""`haes commands`: what operators asked for and nobody has taken over yet, what was refused; taking a request back."""

import argparse
import asyncio
import json

from events.envelope import Event
from events.errors import UserError
from events.log.port import EventLog
from events.log.side import place_of
from events.url import connect
from haes.cli.operate import ANSWER_LIMIT, user_of
from haes.cli.options import add_log_options, require_log
from haes.cli.show import make_console, show_tables
from haes.cli.terminal import say, warn
from haes.live.command_words import why_ignored, why_refused
from haes.live.outcome import CommandWatch, follow_command
from haes.live.presence import LEADER_LEASE, is_over
from haes.live.replica import Replica
from haes.live.requests import EXPIRES, KIND, pending_requests, read_set_aside, send_request
from haes.manager.inputs import Request
from haes.state.cluster import ClusterState
from haes.state.restore import restore_state
from replay.report import Table

# Of the end of the log, how many events are looked through for commands that were not carried out.
LOOK_BACK = 5000
# Of those, how many are shown.
SHOWN = 20
STATUS_NO = 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("commands")
    parser.add_argument("action", choices=("list", "withdraw"))
    parser.add_argument("id", nargs="?", help="withdraw: the request, as listed")
    parser.add_argument("--user", metavar="NAME", help="withdraw: whose it is (default: the log's user, else yours)")
    parser.add_argument("--json", action="store_true", help="list: print JSON")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    if options.action == "withdraw" and options.id is None:
        raise UserError("commands withdraw: name the request (see haes commands)")
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    async with connect(options.log, options.cluster) as log:
        if options.action == "withdraw":
            return await _withdraw(log, user_of(options), options.id)
        state = await restore_state(log, lenient=True)
        now = await log.now()
        tables = [
            _waiting(await pending_requests(log.side, state), now),
            await _not_done(log, state),
            _set_aside(await read_set_aside(log.side)),
        ]
        if options.json:
            rows = {table.title: [dict(zip(table.columns, row, strict=True)) for row in table.rows] for table in tables}
            say(json.dumps(rows))
        else:
            show_tables(make_console(), tables)
        return 0


def _waiting(requests: list[Request], now: float) -> Table:
    rows: list[tuple[str, ...]] = []
    for request in requests:
        # The first part of an id is when it was written, in milliseconds of the server's clock.
        age = max(0.0, now - place_of(request.id)[0] / 1000)
        expires = "never" if request.expires is None else f"in {request.expires - now:.0f} s"
        if request.expires is not None and request.expires <= now:
            expires = "expired"
        asked = request.problem or " ".join([request.verb, *request.arguments])
        rows.append((request.id, request.user, asked, f"{age:.0f} s", expires))
    return Table("Waiting for a leader", ("id", "user", "asks for", "age", "expires"), rows, "nothing")


async def _not_done(log: EventLog, state: ClusterState) -> Table:
    """Returns what was refused or ignored lately, and why."""
    received: dict[int, tuple[str, tuple[str, ...]]] = {}
    rows: list[tuple[str, ...]] = []
    members = sorted(state.members)
    async for event in log.read_all(await _begin(log, state.n - LOOK_BACK), lenient=True):
        payload = event.payload
        if event.type == "command.received":
            received[payload["id"]] = (payload["user"], tuple(payload["arguments"]))
        elif event.type in {"command.rejected", "command.ignored"}:
            user, arguments = received.get(payload["id"], ("?", ()))
            if event.type == "command.rejected":
                why = why_refused(payload, arguments, members)
            else:
                why = f"nothing to do: {why_ignored(event, arguments)}"
            rows.append((str(payload["id"]), user, payload["text"], str(event.n), why))
    return Table(
        "Not carried out lately", ("command", "user", "asked for", "event", "because"), rows[-SHOWN:], "nothing"
    )


async def _begin(log: EventLog, after: int) -> int:
    """Returns the number after which to look: what was trimmed is not looked through."""
    async for chunk in log.raw_chunks(0, count=1):
        first = dict(zip(chunk[0][1][::2], chunk[0][1][1::2], strict=False)).get(b"n", b"1")
        return max(after, int(first) - 1 if first.isdigit() else 0, 0)
    return max(after, 0)


def _set_aside(items: list[dict[str, str]]) -> Table:
    rows: list[tuple[str, ...]] = [(item["request"], item["user"], item["problem"]) for item in items[-SHOWN:]]
    return Table("Set aside, for nobody could read it", ("id", "user", "because"), rows, "nothing")


async def _withdraw(log: EventLog, user: str, request: str) -> int:
    """Takes a request out of the user's stream, and makes sure that no leader had read it before."""
    name = f"{KIND}:{user}"
    try:
        place_of(request)
    except ValueError:
        raise UserError(f"'{request}' is no request; expected an id as haes commands lists it") from None
    if all(entry.id != request for entry in await log.side.read_all(name)):
        raise UserError(f"{user} has no request {request} that waits (haes commands)")
    taken: list[int] = []
    replica = Replica(log)
    await replica.open()
    await log.side.drop(name, [request])
    expires = await log.now() + EXPIRES
    watch = CommandWatch(user, await send_request(log.side, user, "withdraw", [request], expires=expires))

    def see(event: Event) -> None:
        watch.see(event)
        payload = event.payload
        if event.type == "command.received" and (payload["user"], payload.get("request")) == (user, request):
            taken.append(payload["id"])

    replica.on_event = see
    led = not is_over((await log.leases()).get(LEADER_LEASE))
    await replica.catch_up()
    if not led and not taken:
        # Nobody can append any more what he had read; whoever leads next reads anew.
        say("withdrawn; nobody leads right now")
        return 0
    answer = await follow_command(replica, watch, ANSWER_LIMIT, to_the_end=False)
    if taken:
        warn(f"too late: a leader has taken it over already, as command {taken[0]}")
        return STATUS_NO
    if answer is None:
        warn(f"taken out of the stream, but no leader answered within {ANSWER_LIMIT:g} s; one may have read it before")
        return STATUS_NO
    say("withdrawn")
    return 0
