"""`haes replay --step`: a walk through the stream at the reader's pace, by keys in a terminal, else by lines of input.

| in a terminal | in a line | does |
|---|---|---|
| space, Enter, n | `n` | the next event |
| a number, then Enter | `5` | so many events |
| s, then a name | `s vm:101` | the next event about this subject |
| q | `q` | ends the walk, as the end of the input does |
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from events.envelope import Event
from events.errors import UserError
from events.history import History
from events.url import open_log
from haes.cli.keys import Keys
from haes.cli.options import no_events
from haes.cli.terminal import say, warn
from haes.state.restore import replay_state
from replay.history import open_history
from replay.points import find_begin, find_point
from replay.walk import Step, Walk

HELP = "space or n: next event; 5 Enter: five events; s: next event about a subject; q: quit"
LINE_HELP = "expected n, a number of events, s SUBJECT, or q"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the reader wants to see next: so many events, or with a subject the next one about it."""

    count: int = 1
    subject: str | None = None


def step_through(options: argparse.Namespace) -> None:
    """Walks through a stream until the reader has enough or it ends; the options are those of `haes replay`.

    Raises:
        UserError: a point or a command makes no sense, or there is nothing to walk through.
    """
    # Between reads nothing is awaited, so that waiting for a key can be interrupted as usual.
    with asyncio.Runner() as runner:
        log = open_log(options.log, options.cluster)
        runner.run(log.open())
        try:
            history = runner.run(open_history(log, options.archive))
            _walk(runner, history, options.begin, options.until, as_json=options.json)
        finally:
            runner.run(log.close())


def _walk(runner: asyncio.Runner, history: History, begin: str | None, end: str | None, *, as_json: bool) -> None:
    before = 0 if begin is None else runner.run(find_begin(history, begin)).n
    last = runner.run(history.log.head()).n if end is None else runner.run(find_point(history, end)).n
    if not last:
        raise no_events(history.log.cluster)
    walk = Walk(runner.run(replay_state(history, before)))
    events = _events(runner, history, before, last)
    for wish in _keys(lambda: walk.state.n, last) if sys.stdin.isatty() else _lines():
        steps = list(_steps(walk, events, wish))
        for step in steps:
            say(*([json.dumps(step.to_data())] if as_json else [*step.to_lines(), ""]))
        if walk.state.n >= last:
            if wish.subject is not None and not steps:
                warn(f"there is no further event about {wish.subject}")
            if not as_json:
                say("the walk ends here")
            return


def _events(runner: asyncio.Runner, history: History, before: int, last: int) -> Iterator[Event]:
    events = history.events(before, last)
    try:
        while event := runner.run(_next(events)):
            yield event
    finally:
        runner.run(events.aclose())


async def _next(events: AsyncGenerator[Event, None]) -> Event | None:
    return await anext(events, None)


def _steps(walk: Walk, events: Iterator[Event], wish: Wish) -> Iterator[Step]:
    if wish.subject is None:
        yield from map(walk.take, islice(events, wish.count))
        return
    for event in events:
        if event.subject == wish.subject:
            yield walk.take(event)
            return
        walk.pass_over(event)


def parse_wish(line: str) -> Wish | None:
    """Returns what a line of input asks for, None when it ends the walk.

    Raises:
        UserError: it asks for nothing that there is.
    """
    words = line.split()
    match words:
        case [] | ["n"]:
            return Wish()
        case ["q"]:
            return None
        case [number] | ["n", number] if number.isascii() and number.isdigit() and int(number):
            return Wish(count=int(number))
        case ["s", subject]:
            return Wish(subject=subject)
        case _:
            raise UserError(f"cannot understand '{line.strip()}' in the input of --step; {LINE_HELP}")


def _lines() -> Iterator[Wish]:
    for line in sys.stdin:
        wish = parse_wish(line)
        if wish is None:
            return
        yield wish


def _keys(position: Callable[[], int], last: int) -> Iterator[Wish]:
    digits = ""
    with Keys() as keys:
        while True:
            key = keys.key(f"[{position()}/{last}] {HELP} > {digits}")
            if key in {"q", "\x04", ""}:
                return
            if key.isascii() and key.isdigit():
                digits += key
                continue
            if key in {" ", "\n", "\r", "n"}:
                # A count of zero asks for nothing; the next event is what was meant.
                yield Wish(count=int(digits or "1") or 1)
            elif key == "s" and (subject := keys.line("subject: ")):
                yield Wish(subject=subject)
            digits = ""
