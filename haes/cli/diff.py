"""`haes diff`: what changed between two points of one log, or what two logs differ in, by node and resource."""

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from events.errors import UserError
from events.history import History
from events.url import connect
from haes.cli.options import add_archive_option, add_log_options, require_log, warn_of_parked
from haes.cli.terminal import say
from haes.state.cluster import ClusterState
from haes.state.restore import replay_state
from replay.changes import Change, change_lines, changes, facts, read_by_people
from replay.history import open_history
from replay.moments import say_moment
from replay.points import find_point


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "diff",
        description="Points are a number, a stream id, @SECONDS, a time, or -5m (before the end).",
    )
    parser.add_argument("points", nargs="*", metavar="POINT", help="A and B; B is the end of the log when left out")
    parser.add_argument("--other", metavar="URL", help="compare with this log: A is a point of --log, B of this one")
    parser.add_argument(
        "--other-cluster", metavar="NAME", help="compare with this cluster (default: that of --cluster)"
    )
    parser.add_argument("--other-archive", type=Path, metavar="FOLDER", help="where the archive of that log lies")
    add_archive_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_log_options(parser, default=None)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    require_log(options)
    two_logs = options.other is not None or options.other_cluster is not None
    if two_logs:
        if len(options.points) not in {0, 2}:
            raise UserError("diff of two logs needs a point of each, or none for the ends of both")
        other = argparse.Namespace(
            log=options.other or options.log,
            cluster=options.other_cluster or options.cluster,
            archive=options.other_archive,
        )
        require_log(other)
        texts = options.points or [None, None]
    else:
        if len(options.points) not in {1, 2}:
            raise UserError(
                "diff needs one or two points of the log, or another log (--other URL, --other-cluster NAME)"
            )
        other = options
        texts = [*options.points, None][:2]
    before, after = asyncio.run(_states(options, other, texts))
    found = changes(facts(before), facts(after))
    if options.json:
        data = {"from": _place(options, before), "to": _place(other, after)}
        print(json.dumps(data | {"changes": [change.to_data() for change in found]}, indent=2))  # noqa: T201
    else:
        say(*_lines(options, other, before, after, found))
    return 0


async def _states(
    one: argparse.Namespace, other: argparse.Namespace, texts: Sequence[str | None]
) -> tuple[ClusterState, ClusterState]:
    async with connect(one.log, one.cluster) as log:
        history = await open_history(log, one.archive)
        before = await _state(history, texts[0])
        if other is one:
            return before, await _state(history, texts[1])
        # While the first connection is open, a server that both logs lie on is not started twice.
        async with connect(other.log, other.cluster) as other_log:
            return before, await _state(await open_history(other_log, other.archive), texts[1])


async def _state(history: History, text: str | None) -> ClusterState:
    state = await replay_state(history, None if text is None else (await find_point(history, text)).n)
    if not state.n:
        name = history.log.cluster
        raise UserError(f"cluster '{name}' has no events in this log (--cluster NAME, --other-cluster NAME)")
    warn_of_parked(state)
    return state


def _place(options: argparse.Namespace, state: ClusterState) -> dict[str, Any]:
    return {"cluster": options.cluster, "n": state.n, "at": state.at}


def _lines(
    one: argparse.Namespace,
    other: argparse.Namespace,
    before: ClusterState,
    after: ClusterState,
    found: Sequence[Change],
) -> list[str]:
    first, second = (
        f"cluster {options.cluster}, event {state.n} at {say_moment(state.at)}"
        for options, state in ((one, before), (other, after))
    )
    told = read_by_people(found)
    count = f"{len(told)} changes" if len(told) != 1 else "1 change"
    if len(told) < len(found):
        count += ", and what programs keep for each other (--json)"
    return [f"from {first}", f"to   {second}", *change_lines(told), count if found else "nothing differs"]
