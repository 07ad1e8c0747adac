"""What operators ask of a running cluster: one command each, written into the user's own stream for the leader.

| command | asks for |
|---|---|
| `add`, `set`, `remove` | a resource's configuration |
| `migrate`, `relocate`, `start`, `stop` | a motion, a start, a stop |
| `maintenance`, `node`, `disarm`, `arm` | a node, or all of HA, in or out of service |
"""

import argparse
import asyncio
import getpass
import json
import sys
import tomllib
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from events.envelope import Event
from events.errors import UserError
from events.url import connect
from haes.cli.options import add_log_options, no_events, require_log
from haes.live.outcome import CommandWatch, End, Outcome, follow_command
from haes.live.replica import Replica
from haes.live.requests import send_request
from haes.manager.commands import LONGEST_STOP

# Seconds to wait for the outcome unless the user says otherwise: the longest usual stop, and a start elsewhere.
WAIT_LIMIT = 300.0
STATUS_NO = 1

Request = tuple[str, list[str]]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands; they share a module, which is asked once for each of them."""
    if "add" in subparsers.choices:
        return
    add = _command(subparsers, "add", "add a resource", resource=True)
    add.add_argument("values", nargs="*", metavar="KEY=VALUE", help="node=node1 command='sleep 60' ...")
    change = _command(subparsers, "set", "change a resource's configuration", resource=True)
    change.add_argument("values", nargs="+", metavar="KEY=VALUE")
    _command(subparsers, "remove", "take a resource out of the cluster; a process is stopped", resource=True)
    for verb, what in (
        ("migrate", "move a resource while it runs"),
        ("relocate", "stop a resource and start it elsewhere"),
    ):
        motion = _command(subparsers, verb, what, resource=True)
        motion.add_argument("target", metavar="NODE", help="where it is to go")
    _command(subparsers, "start", "ask for a resource to run", resource=True)
    stop = _command(subparsers, "stop", "ask for a resource to be stopped", resource=True)
    stop.add_argument("--timeout", type=int, metavar="SECONDS", help="how long it may take to stop")
    maintenance = _command(subparsers, "maintenance", "empty a node, or put it back into service")
    maintenance.add_argument("mode", choices=("on", "off"))
    maintenance.add_argument("node", metavar="NODE")
    node = _command(subparsers, "node", "add or remove a node of the cluster; vouch that one is off")
    node.add_argument("action", choices=("add", "remove", "confirm-fenced"))
    node.add_argument("node", metavar="NODE")
    disarm = _command(subparsers, "disarm", "take HA out of action")
    disarm.add_argument("--mode", choices=("freeze", "ignore"), default="freeze")
    _command(subparsers, "arm", "put HA back into action")


def _command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, help_: str, *, resource: bool = False
) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(name, help=help_)
    if resource:
        parser.add_argument("resource", metavar="RESOURCE", help="for example process:web")
    add_request_options(parser)
    parser.set_defaults(run=run)
    return parser


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Adds what all commands to the leader have in common."""
    parser.add_argument(
        "--wait", action="store_true", help="wait for the outcome; status 1 when it is not as asked for"
    )
    parser.add_argument(
        "--wait-limit", type=float, default=WAIT_LIMIT, metavar="SECONDS", help="wait no longer than this"
    )
    parser.add_argument("--user", metavar="NAME", help="who asks (default: the log's user, else yours)")
    add_log_options(parser, default=None)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    return submit(options, _requests(options))


def submit(options: argparse.Namespace, requests: Sequence[Request]) -> int:
    """Sends requests to the leader, waits for their outcome if asked to, and returns the exit status."""
    require_log(options)
    outcome = asyncio.run(_submit(options, requests))
    text = outcome.text if outcome is not None else _sent(options)
    good = outcome is None or outcome.end in {End.DONE, End.IGNORED}
    print(text, file=sys.stdout if good else sys.stderr)
    return 0 if good else STATUS_NO


def _sent(options: argparse.Namespace) -> str:
    return "no outcome yet" if options.wait else "asked for; the leader answers on the stream (haes events, or --wait)"


async def _submit(options: argparse.Namespace, requests: Sequence[Request]) -> Outcome | None:
    user = options.user or urlsplit(options.log).username or getpass.getuser()
    async with connect(options.log, options.cluster) as log:
        if not (await log.head()).n:
            raise no_events(options.cluster)
        watches: list[CommandWatch] = []

        def see(event: Event) -> None:
            for watch in watches:
                watch.see(event)

        replica = Replica(log, see)
        if options.wait:
            await replica.open()
        watches += [CommandWatch(user, await send_request(log.side, user, verb, words)) for verb, words in requests]
        outcome: Outcome | None = None
        for watch in watches if options.wait else ():
            outcome = await follow_command(replica, watch, options.wait_limit)
            if outcome is None:
                return Outcome(End.FAILED, f"no outcome within {options.wait_limit:g} s; it may still come")
            if outcome.end not in {End.DONE, End.IGNORED}:
                break
        return outcome


def _requests(options: argparse.Namespace) -> list[Request]:
    match options.command:
        case "add" | "set":
            return [("configure", [options.resource, json.dumps(_values(options.values))])]
        case "remove":
            return [("unconfigure", [options.resource])]
        case "migrate" | "relocate":
            return [(options.command, [options.resource, options.target])]
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
