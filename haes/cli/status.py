"""`haes status`: how the cluster is right now, once or again and again."""

import argparse
import asyncio
import json
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from events.errors import LogUnavailable
from events.log.port import EventLog
from events.url import connect
from haes.cli.options import add_log_options, no_events, require_log
from haes.cli.show import make_console, render_tables
from haes.cli.terminal import one_line
from haes.live.status import read_status
from haes.state.cluster import ClusterState
from replay.moments import say_time
from replay.report import Table, summary

# Seconds between two looks with --watch.
WATCH_INTERVAL = 1.0
# Of the requests that nobody could read, how many of the last ones are shown; all are in the output as JSON.
SET_ASIDE_SHOWN = 3


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("status")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--watch", action="store_true", help="show it again and again, until Ctrl-C")
    parser.add_argument("--check", action="store_true", help="print trouble only; status 1 if there is any")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    console = make_console()
    async with connect(options.log, options.cluster) as log:
        if options.watch:
            await _watch(console, log)
        state, live = await _read(log)
        if options.check:
            for line in live["trouble"]:
                console.print(one_line(line))
            return int(bool(live["trouble"]))
        if options.json:
            print(json.dumps({**summary(state), "live": live}, indent=2))  # noqa: T201
        else:
            console.print(picture(state, live, colour=console.is_terminal))
    return 0


async def _read(log: EventLog) -> tuple[ClusterState, dict[str, Any]]:
    state, live = await read_status(log)
    if not state.n:
        raise no_events(log.cluster)
    return state, live


async def _watch(console: Console, log: EventLog) -> None:
    shown: RenderableType = Text("")
    with Live(shown, console=console, screen=console.is_terminal, auto_refresh=False) as view:
        while True:
            try:
                shown = picture(*await _read(log), colour=console.is_terminal)
            except LogUnavailable as error:
                view.update(Group(Text(f"the log is away: {error}", style="bold red"), shown), refresh=True)
            else:
                view.update(shown, refresh=True)
            await asyncio.sleep(WATCH_INTERVAL)


def picture(state: ClusterState, live: dict[str, Any], *, colour: bool) -> RenderableType:
    """Returns the whole picture."""
    leader = live["leader"]
    age = max(0.0, live["now"] - state.at)
    head = (
        f"cluster {state.name}: event {state.n}, {_ago(age)}; leader "
        f"{leader['owner'].partition('@')[0] if leader else 'none'}"
        f"{'' if leader is None else _left(leader['expires_in'])}"
    )
    parts: list[RenderableType] = [Text(one_line(head), style="bold")]
    style: Callable[[str], str] = lambda name: name if colour else ""  # noqa: E731 - one word, used twice
    parts += [Text(one_line(f"! {line}"), style=style("bold red")) for line in live["trouble"]]
    parts += [
        Text(
            one_line(f"waiting: {' '.join([item['verb'], *item['arguments']])} ({item['user']})"), style=style("yellow")
        )
        for item in live["requests"]
    ]
    parts += [
        Text(one_line(f"set aside: a request of {item['user']}: {item['problem']}"), style=style("yellow"))
        for item in live["set_aside"][-SET_ASIDE_SHOWN:]
    ]
    return Group(*parts, Text(""), *render_tables(_tables(state, live)))


def _tables(state: ClusterState, live: dict[str, Any]) -> list[Table]:
    said = summary(state)
    nodes: list[tuple[str, ...]] = [
        (
            row["node"],
            row["state"],
            row["agent"] or "-",
            row["mode"] or "-",
            _lease(live["agents"].get(row["node"])),
            _load(live["loads"].get(row["node"])),
            str(row["resources"]),
        )
        for row in said["nodes"]
    ]
    resources: list[tuple[str, ...]] = [
        (
            row["resource"],
            row["node"] or "-",
            row["requested"] or "-",
            row["state"] or "-",
            _how_it_is(row, live["failing"]),
            row["target"] or "",
        )
        for row in said["resources"]
    ]
    pending: list[tuple[str, ...]] = [
        (row["resource"], row["verb"], row["target"], row["stage"], str(row["origin"])) for row in said["pending"]
    ]
    return [
        Table("Nodes", ("node", "state", "agent", "mode", "lease", "load", "resources"), nodes, "none"),
        Table("Resources", ("resource", "node", "requested", "state", "", "target"), resources, "none"),
        Table("Pending motions", ("resource", "verb", "target", "stage", "because of"), pending, "none"),
    ]


def _how_it_is(row: dict[str, Any], failing: dict[str, str]) -> str:
    """Returns whether a resource runs, and how it fails if it does."""
    how = failing.get(row["resource"])
    if how is not None and row["state"] == "started":
        return how
    return "running" if row["running"] else "-"


def _lease(held: dict[str, Any] | None) -> str:
    if held is None:
        return "none"
    left = held["expires_in"]
    return "for ever" if left is None else f"{left:.0f} s" if left > 0 else f"over for {-left:.0f} s"


def _load(load: dict[str, Any] | None) -> str:
    if load is None:
        return "-"
    memory = 100 * load["mem"] / load["maxmem"]
    return f"{100 * load['load']:.0f} %  cpu {load['cpu']:.1f}/{load['maxcpu']:g}  mem {memory:.0f} %"


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f" (lease: {seconds:.0f} s left)" if seconds > 0 else " (its lease is over)"


def _ago(seconds: float) -> str:
    return f"{seconds:.0f} s ago"


def time_of(at: float) -> str:
    """Returns domain time as people read it: as a date where it is one, else as seconds of a virtual clock."""
    return say_time(at).replace("T", " ")
