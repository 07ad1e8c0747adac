"""What services print, fetched from the node where it lies: asked for and answered in small streams beside the log.

Nothing of it goes on record. Whoever asks writes into his own stream, the node's agent answers into one for all; both
keep little, and not for long.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

from events.errors import HaesError, LogUnavailable
from events.log.side import SideEntry, SideStreams, place_of
from haes.live.node import LiveNode

_log = logging.getLogger(__name__)

# Kind of the streams that users ask in, and name of the one that agents answer in.
ASKED, ANSWERED = "logs", "output"
# Entries that such a stream keeps, and seconds for which an entry is of use to anybody.
KEPT, KEPT_FOR = 200, 60.0
# Seconds between two looks of an agent at what is asked, and of whoever asked at the answers.
LOOK_INTERVAL, ANSWER_INTERVAL = 0.5, 0.1
# Seconds for an answer: an agent that is there looks twice a second.
ANSWER_LIMIT = 5.0
# Longest text of a request: whoever asks may be a broken program.
LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines that a service printed on a node, and the position after them."""

    lines: tuple[str, ...]
    position: str


async def fetch(side: SideStreams, user: str, node: str, resource: str, lines: int, position: str = "") -> Piece | None:
    """Asks a node's agent for what a service printed; None when it does not answer in time."""
    known = await side.read_all(ANSWERED)
    after = known[-1].id if known else "0-0"
    fields = {"node": node, "resource": resource, "lines": str(lines), "after": position}
    request = await side.add(f"{ASKED}:{user}", fields, keep=KEPT, max_age=KEPT_FOR)
    try:
        async with asyncio.timeout(ANSWER_LIMIT):
            while True:
                for entry in (await side.read({ANSWERED: after})).get(ANSWERED, ()):
                    after = entry.id
                    if entry.fields.get("to") == f"{user}/{request}".encode():
                        said = json.loads(entry.fields["lines"])
                        return Piece(tuple(said), entry.fields["position"].decode())
                await asyncio.sleep(ANSWER_INTERVAL)
    except TimeoutError:
        return None


async def answer_for_ever(side: SideStreams, node: str, live: LiveNode, away: Callable[[LogUnavailable], None]) -> None:
    """Answers what is asked of a node.

    Args:
        side: the streams.
        node: the node.
        live: what knows what its services printed.
        away: called when the log cannot be reached.
    """
    positions: dict[str, str] = {}
    while True:
        try:
            for name in await side.names(ASKED):
                if name not in positions:
                    # What was asked before this agent was there has nobody who waits for it any more.
                    known = await side.read_all(name)
                    fresh = [entry for entry in known if _age(known[-1], entry) < ANSWER_LIMIT]
                    positions[name] = _before(fresh[0]) if fresh else known[-1].id if known else "0-0"
            for name, entries in (await side.read(positions)).items() if positions else ():
                for entry in entries:
                    positions[name] = entry.id
                    await _answer(side, node, live, name.partition(":")[2], entry)
        except LogUnavailable as error:
            away(error)
        await asyncio.sleep(LOOK_INTERVAL)


def _age(latest: SideEntry, entry: SideEntry) -> float:
    return (place_of(latest.id)[0] - place_of(entry.id)[0]) / 1000


def _before(entry: SideEntry) -> str:
    return f"{place_of(entry.id)[0] - 1}-0"


async def _answer(side: SideStreams, node: str, live: LiveNode, user: str, entry: SideEntry) -> None:
    """Answers one request, if it is for this node; what no request is gets no answer."""
    try:
        asked = {name: entry.fields[name][:LONGEST_TEXT].decode() for name in ("node", "resource", "lines", "after")}
        if asked["node"] != node:
            return
        lines, position = await asyncio.to_thread(live.said, asked["resource"], int(asked["lines"]), asked["after"])
    except (KeyError, ValueError, OSError, HaesError) as error:
        _log.warning("a request of %r for what a service printed cannot be answered: %r", user, error)
        return
    fields = {"to": f"{user}/{entry.id}", "lines": json.dumps(lines), "position": position}
    await side.add(ANSWERED, fields, keep=KEPT, max_age=KEPT_FOR)
