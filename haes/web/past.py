"""Answers questions about the past beside the page's own work: each in a thread with its own connection.

A replay keeps its thread busy for as long as it takes, and the page must go on meanwhile. Knows nothing of HTTP.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from events.envelope import Event
from events.errors import UserError
from events.history import History
from events.url import connect
from haes.state.restore import replay_state
from haes.web.picture import line_of, picture
from replay.changes import change_lines, changes, facts
from replay.explain import explain_resource
from replay.explain_motion import end_lines, explain_motion, find_motion, find_plan, motion_ends
from replay.history import open_history, wanted_events
from replay.points import find_point

# Pictures kept for whoever drags the slider to and fro; one of ten thousand services has 1 MB.
KEPT = 16
# Questions answered at once: more would only make each of them slower.
AT_ONCE = 2
# Lines of the journal in one answer.
MOST_LINES = 500
# Events that are looked through for the lines that fit a search, so that an answer never takes long.
LOOKED_THROUGH = 20_000

Data = dict[str, Any]


class Past:
    """The history of one cluster."""

    def __init__(self, url: str, cluster: str, archive: Path | None) -> None:
        """Prepares it; nothing is opened before something is asked.

        Args:
            url: of the log.
            cluster: whose history.
            archive: where archived segments lie, or None.
        """
        self._url, self._cluster, self._archive = url, cluster, archive
        self._places = asyncio.Semaphore(AT_ONCE)
        self._pictures: OrderedDict[int, Data] = OrderedDict()

    async def at(self, point: str) -> Data:
        """Returns the picture as of a point.

        Raises:
            UserError: it is no point, or lies before the beginning.
            LogFault: what is needed is gone, or cannot be understood.
        """

        async def find(history: History) -> Data:
            place = await find_point(history, point)
            known = self._pictures.get(place.n)
            return known if known is not None else picture(await replay_state(history, place.n))

        found: Data = await self._ask(find)
        self._pictures[found["n"]] = found
        self._pictures.move_to_end(found["n"])
        while len(self._pictures) > KEPT:
            self._pictures.popitem(last=False)
        return found

    async def explain(self, resource: str, last: int | None) -> str:
        """Says why a service is where it is, as of an event or now.

        Raises:
            UserError: there is no such service at that point.
        """

        async def explain(history: History) -> str:
            explanation, state = await explain_resource(history, resource, last)
            if resource not in state.configurations and resource not in state.resources:
                raise UserError(f"there is no service '{resource}' at this point")
            return "\n".join(explanation.to_lines())

        text: str = await self._ask(explain)
        return text

    async def motion(self, number: int) -> str:
        """Says why the balancer chose a motion and how it ended.

        Raises:
            UserError: there is no such motion.
        """

        async def explain(history: History) -> str:
            events = [event async for event in wanted_events(history, _is_balance)]
            chosen = find_motion(events, number)
            said = explain_motion(chosen, find_plan(events, chosen))
            return "\n".join([*said, *end_lines(motion_ends(events, chosen))])

        text: str = await self._ask(explain)
        return text

    async def compare(self, before: str, after: str) -> list[str]:
        """Returns what differs between two points, a line each.

        Raises:
            UserError: one is no point.
        """

        async def compare(history: History) -> list[str]:
            old = await replay_state(history, (await find_point(history, before)).n)
            new = await replay_state(history, (await find_point(history, after)).n)
            return change_lines(changes(facts(old), facts(new)))

        lines: list[str] = await self._ask(compare)
        return lines

    async def journal(self, before: int | None, search: str, kind: str, limit: int) -> Data:
        """Returns `lines` of the journal, newest first, and as `next` the number before which to go on, or None.

        Args:
            before: number of the event that the newest line lies before; None for the end.
            search: what a line must have in it, case aside; empty for all.
            kind: what the type of an event must begin with; empty for all.
            limit: how many lines at most.
        """
        wanted, prefix = search.casefold(), kind.encode()

        async def read(history: History) -> Data:
            head = (await history.log.head()).n
            last = head if before is None else min(before - 1, head)
            first_there = 1 if self._archive is not None else await history.first_in_stream()
            after = max(first_there - 1, last - LOOKED_THROUGH)
            found: list[Data] = []
            if last > after:
                is_wanted: Callable[[bytes, bytes], bool] = lambda type_, _: type_.startswith(prefix)  # noqa: E731
                async for event in wanted_events(history, is_wanted, last, after):
                    line = line_of(event)
                    if not wanted or wanted in _searched(event, line):
                        found.append(line)
            most = min(limit, MOST_LINES)
            lines = found[: -most - 1 : -1]
            if len(found) > most:
                return {"lines": lines, "next": lines[-1]["n"]}
            return {"lines": lines, "next": after + 1 if after >= first_there else None}

        answer: Data = await self._ask(read)
        return answer

    async def span(self) -> Data:
        """Returns the first and the last number that can be asked about."""

        async def read(history: History) -> Data:
            last = (await history.log.head()).n
            first = 1 if self._archive is not None else min(await history.first_in_stream(), max(1, last))
            return {"first": first, "last": last}

        found: Data = await self._ask(read)
        return found

    async def _ask(self, question: Callable[[History], Awaitable[Any]]) -> Any:
        async def answer() -> Any:
            async with connect(self._url, self._cluster) as log:
                return await question(await open_history(log, self._archive))

        async with self._places:
            return await asyncio.to_thread(asyncio.run, answer())


def _is_balance(type_: bytes, _subject: bytes) -> bool:
    return type_.startswith(b"balance.")


def _searched(event: Event, line: Data) -> str:
    return f"{event.type} {event.subject} {event.by} {line['text']}".casefold()
