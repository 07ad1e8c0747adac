"""What operators ask of a running cluster: one command each, written into the user's own stream for the leader.

| command | asks for |
|---|---|
| `add`, `set`, `remove` | a resource's configuration |
| `migrate`, `relocate`, `start`, `stop`, `retry` | a motion, a start, a stop, a new beginning |
| `maintenance`, `node`, `disarm`, `arm` | a node, or all of HA, in or out of service |
"""

import argparse
import asyncio
import getpass
import json
import tomllib
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from events.envelope import Event
from events.errors import UserError
from events.log.port import EventLog
from events.url import connect
from haes.bounds import LONGEST_STOP
from haes.cli.exposed import exposed
from haes.cli.options import add_log_options, no_events, require_log
from haes.cli.terminal import say, warn
from haes.live.command_words import why_refused
from haes.live.outcome import CommandWatch, End, Outcome, follow_command
from haes.live.presence import LEADER_LEASE, is_over
from haes.live.replica import Replica
from haes.live.requests import EXPIRES, pending_requests, send_request
from haes.state.cluster import ClusterState

# Seconds to wait for the leader's answer unless the user says otherwise: a leader looks at requests twice a second.
ANSWER_LIMIT = 10.0
# Seconds to wait for the effect: the longest usual stop, and a start elsewhere.
WAIT_LIMIT = 300.0
# Seconds that a request may be given to wait; whoever wants more wants `never`.
LONGEST_EXPIRY = 86400
STATUS_NO = 1
# How an outcome begins.
_ENDS = {End.TAKEN: "taken: ", End.DONE: "", End.IGNORED: "nothing to do: ", End.REJECTED: "refused: ", End.FAILED: ""}
_STAYS = "it stays asked for until a leader answers it or it expires (haes commands shows what waits)"

Request = tuple[str, list[str]]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands; they share a module, which is asked once for each of them."""
    if "add" in subparsers.choices:
        return
    add = _command(subparsers, "add", resource=True)
    add.add_argument("values", nargs="*", metavar="KEY=VALUE", help="node=node1 command='sleep 60' ...")
    change = _command(subparsers, "set", resource=True)
    change.add_argument("values", nargs="+", metavar="KEY=VALUE")
    _command(subparsers, "remove", resource=True)
    for verb in ("migrate", "relocate"):
        motion = _command(subparsers, verb, resource=True)
        motion.add_argument("target", metavar="NODE", help="where it is to go")
    _command(subparsers, "start", resource=True)
    stop = _command(subparsers, "stop", resource=True)
    stop.add_argument("--timeout", type=int, metavar="SECONDS", help="how long it may take to stop")
    _command(subparsers, "retry", resource=True)
    maintenance = _command(subparsers, "maintenance")
    maintenance.add_argument("mode", choices=("on", "off"))
    maintenance.add_argument("node", metavar="NODE")
    node = _command(subparsers, "node")
    node.add_argument("action", choices=("add", "remove", "confirm-fenced"))
    node.add_argument("node", metavar="NODE")
    disarm = _command(subparsers, "disarm")
    disarm.add_argument("--mode", choices=("freeze", "ignore"), default="freeze")
    _command(subparsers, "arm")


def _command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, *, resource: bool = False
) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(name)
    if resource:
        parser.add_argument("resource", metavar="RESOURCE", help="for example process:web")
    add_request_options(parser)
    parser.set_defaults(run=run)
    return parser


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Adds what all commands to the leader have in common."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--wait", action="store_true", help="wait until it is so, or known not to become so (default: for the answer)"
    )
    how.add_argument("--no-wait", action="store_true", help="do not wait for the leader's answer; for scripts")
    parser.add_argument(
        "--wait-limit",
        type=float,
        metavar="SECONDS",
        help=f"wait no longer than this (default: {ANSWER_LIMIT:g} for the answer, {WAIT_LIMIT:g} with --wait)",
    )
    parser.add_argument(
        "--expires",
        type=_expiry,
        default=EXPIRES,
        metavar="SECONDS",
        help=f"how long it may wait for a leader, or 'never' (default: {EXPIRES:g})",
    )
    parser.add_argument(
        "--key", metavar="TEXT", help="a name of your own: what is sent again under it is not done again"
    )
    parser.add_argument("--user", metavar="NAME", help="who asks (default: the log's user, else yours)")
    add_log_options(parser, default=None)


def _expiry(text: str) -> float | None:
    """Reads `--expires`."""
    if text == "never":
        return None
    seconds = float(text)
    if not 0 < seconds <= LONGEST_EXPIRY:
        raise argparse.ArgumentTypeError(f"'{text}': allowed are up to {LONGEST_EXPIRY} seconds, or never")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    return submit(options, _requests(options))


def submit(options: argparse.Namespace, requests: Sequence[Request]) -> int:
    """Asks the leader for something, waits as long as the user wants to, and returns the exit status.

    Status 1 says that what was asked for is refused, failed, or not known to be done.
    """
    require_log(options)
    outcome = asyncio.run(_submit(options, requests))
    if outcome is None:
        say("asked for; the leader answers on the stream (haes events)")
        return 0
    good = outcome.end in {End.TAKEN, End.DONE, End.IGNORED}
    (say if good else warn)(f"{_ENDS[outcome.end]}{outcome.text}")
    return 0 if good else STATUS_NO


def user_of(options: argparse.Namespace) -> str:
    """Returns who asks."""
    return str(options.user or urlsplit(options.log).username or getpass.getuser())


async def _submit(options: argparse.Namespace, requests: Sequence[Request]) -> Outcome | None:
    user = user_of(options)
    async with connect(options.log, options.cluster) as log:
        if not (await log.head()).n:
            raise no_events(options.cluster)
        watches: list[CommandWatch] = []

        def see(event: Event) -> None:
            for watch in watches:
                watch.see(event)

        replica = Replica(log, see)
        await replica.open()
        refusal = await _refused_beforehand(log, replica.state, user, requests)
        if refusal is not None:
            return refusal
        expires = None if options.expires is None else await log.now() + options.expires
        for place, (verb, words) in enumerate(requests):
            # What one command asks for in several requests has a key for each of them.
            key = f"{options.key}/{place}" if options.key is not None and len(requests) > 1 else options.key
            request = await send_request(log.side, user, verb, words, expires=expires, key=key)
            watches.append(CommandWatch(user, request))
        return None if options.no_wait else await _follow(replica, watches, options)


async def _refused_beforehand(
    log: EventLog, state: ClusterState, user: str, requests: Sequence[Request]
) -> Outcome | None:
    """Returns the refusal of what is sure to be refused; with other requests on their way nothing is sure."""
    if await pending_requests(log.side, state):
        return None
    # The leader's own way of deciding brings numpy with it.
    from haes.manager.trial import certain_refusal

    for verb, words in requests:
        refusal = certain_refusal(state, user, verb, tuple(words))
        if refusal is not None:
            return Outcome(End.REJECTED, why_refused(refusal.payload, words, sorted(state.members)))
    return None


async def _follow(replica: Replica, watches: Sequence[CommandWatch], options: argparse.Namespace) -> Outcome:
    """Waits for the answers, or for the effects."""
    lease = (await replica.log.leases()).get(LEADER_LEASE)
    if is_over(lease):
        if not options.wait:
            return Outcome(End.FAILED, f"asked for, but no manager leads; {_STAYS}")
        warn(f"no manager leads right now; {_STAYS}")
    limit = options.wait_limit or (WAIT_LIMIT if options.wait else ANSWER_LIMIT)
    outcome = Outcome(End.FAILED, "nothing was asked for")
    for watch in watches:
        found = await follow_command(replica, watch, limit, to_the_end=options.wait)
        if found is None:
            said = "taken, but not done" if watch.number is not None else "asked for, but not answered"
            more = "it may still come" if watch.number is not None else _STAYS
            return Outcome(End.FAILED, f"{said} within {limit:g} s; {more}")
        outcome = found
        if outcome.end in {End.REJECTED, End.FAILED}:
            break
    return outcome


def _requests(options: argparse.Namespace) -> list[Request]:
    match options.command:
        case "add" | "set":
            values = _values(options.values)
            warn(*exposed(options.resource, values.get("environment")))
            return [("configure", [options.resource, json.dumps(values)])]
        case "remove":
            return [("unconfigure", [options.resource])]
        case "migrate" | "relocate":
            return [(options.command, [options.resource, options.target])]
        case "retry":
            return [("retry", [options.resource])]
        case "start":
            return [("configure", [options.resource, json.dumps({"state": "started"})])]
        case "stop" if options.timeout is not None:
            if not 0 <= options.timeout <= LONGEST_STOP:
                raise UserError(f"--timeout cannot be {options.timeout}; allowed are 0 to {LONGEST_STOP} seconds")
            return [("stop", [options.resource, str(options.timeout)])]
        case "stop":
            return [("configure", [options.resource, json.dumps({"state": "stopped"})])]
        case "maintenance":
            return [(f"{'enable' if options.mode == 'on' else 'disable'}-node-maintenance", [options.node])]
        case "node":
            verb = {"add": "add-node", "remove": "remove-node"}.get(options.action, options.action)
            return [(verb, [options.node])]
        case "disarm":
            return [("disarm-ha", [options.mode])]
        case _:
            return [("arm-ha", [])]


def _values(assignments: Sequence[str]) -> dict[str, Any]:
    """Reads `KEY=VALUE`, the value as in the cluster's file where it can be read so, else as a plain text."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise UserError(f"'{assignment}': expected KEY=VALUE")
        try:
            values[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            values[key] = text
    return values
