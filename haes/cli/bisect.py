"""`haes bisect`: the first event after which a condition over the state holds; status 1 when it never does."""

import argparse
import asyncio
import json
from typing import Any

from events.errors import UserError
from events.history import History
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, no_events, require_log, warn_of_parked
from haes.cli.terminal import say
from haes.state.restore import replay_state
from replay.bisect import Found, find_first, find_first_by_halving, never_there
from replay.history import open_history
from replay.language import Condition, compile_condition
from replay.language.names import EVENT, LOOK_UPS, THINGS, VALUES, Kind
from replay.points import find_begin, find_point
from replay.walk import Step, Walk

EXAMPLES = """examples:
  haes bisect 'resource("vm:105").node == "node2"'
  haes bisect 'imbalance > 40'
  haes bisect 'count(resources, state == "error") > 2 or node("node1").state == "fence"'
  haes bisect 'event.type == "balance.failed" and any(failures, attempts >= 3)'
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "bisect",
        description="Points are a number, a stream id, @SECONDS, a time, or -5m (before the end).",
        epilog=f"{EXAMPLES}\n{_names()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("expression", metavar="EXPRESSION", help="a condition over the state, see below")
    parser.add_argument("--from", metavar="POINT", dest="begin", help="search from there on (default: the start)")
    parser.add_argument("--until", metavar="POINT", help="search up to there (default: the end)")
    parser.add_argument(
        "--monotone", action="store_true", help="once it holds it holds for good: halve the stretch, from snapshots"
    )
    add_archive_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def _names() -> str:
    """Returns every name that an expression may use, for the help."""
    lines = ["names:", *(f"  {name:<24} {value.meaning}" for name, value in VALUES.items())]
    for kind in (*LOOK_UPS.values(), EVENT):
        called = f'{kind.name}("NAME")' if kind.name in LOOK_UPS else kind.name
        lines += ["", f"{called}:", *_of_kind(kind)]
    lines += ["", "count(ALL, CONDITION), any(ALL, CONDITION), all(ALL, CONDITION), where ALL is one of:"]
    lines += [f"  {name:<24} {things.meaning}: {', '.join(things.kind.attributes)}" for name, things in THINGS.items()]
    lines += ["", 'setting("KEY") is a setting of the section crs.', "", "What is not known is none."]
    return "\n".join(lines).replace("%", "%%")


def _of_kind(kind: Kind) -> list[str]:
    return [f"  .{name:<23} {value.meaning}" for name, value in kind.attributes.items()]


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    # A wrong expression is refused before anything is read.
    condition = compile_condition(options.expression)
    require_log(options)
    found, step = asyncio.run(_search(options, condition))
    missing = never_there(condition, found.state)
    warn_of_parked(found.state)
    if options.json:
        data: dict[str, Any] = {"n": found.n, "already": found.already, "looked_at": found.events, "unknown": missing}
        print(json.dumps(data | {"event": None if step is None else step.to_data()}, indent=2))  # noqa: T201
    else:
        say(*_lines(options, found, step, missing))
    return 1 if found.n is None else 0


async def _search(options: argparse.Namespace, condition: Condition) -> tuple[Found, Step | None]:
    async with connect(options.log, options.cluster) as log:
        head = await log.head()
        if not head.n:
            raise no_events(options.cluster)
        history = await open_history(log, options.archive)
        before = 0 if options.begin is None else (await find_begin(history, options.begin)).n
        last = head.n if options.until is None else (await find_point(history, options.until)).n
        if before >= last:
            raise UserError(f"there is no event from {options.begin} up to {options.until or 'the end'}")
        search = find_first_by_halving if options.monotone else find_first
        found = await search(history, condition, before, last)
        return found, await _step(history, found)


async def _step(history: History, found: Found) -> Step | None:
    """Returns what the event that was found changed."""
    if found.n is None or found.already:
        return None
    [event] = [event async for event in history.events(found.n - 1, found.n)]
    return Walk(await replay_state(history, found.n - 1)).take(event)


def _lines(options: argparse.Namespace, found: Found, step: Step | None, missing: list[str]) -> list[str]:
    unknown = [f"there is no {name} in this stretch" for name in missing]
    if step is not None:
        return [f"holds first after event {step.event.n}:", "", *step.to_lines()]
    if found.already:
        first = f"event {found.n}, before the stretch begins" if found.n else "before the first event"
        return [f"holds already: {first}", *unknown]
    looked = "states" if options.monotone else "events"
    return [f"never holds; {found.events} {looked} were looked at", *unknown]
