"""What operators ask for, between their own streams and the leader's round: written by users, read by the leader.

The server lets each user write into the stream that bears his name alone, so that the name on a command is true.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from math import isfinite, nan

from events.errors import UserError
from events.log.side import START_ID, SideEntry, SideStreams, place_of
from haes.bounds import LONGEST_NAME, LONGEST_REQUEST, problem_with_request, problem_with_text, read_json, shown
from haes.manager.inputs import Request
from haes.state.cluster import ClusterState

_log = logging.getLogger(__name__)

KIND = "commands"
# Where requests go that nobody can read, as they were written: to be seen, never to be carried out.
SET_ASIDE = "set-aside"
# Of those, how many are kept: more than anybody looks through.
SET_ASIDE_KEPT = 1000
# Bytes of a field that is set aside: JSON may write one character as six.
SET_ASIDE_LONGEST = 6 * LONGEST_REQUEST
# Requests that one user's stream keeps at most; the leader removes what it has taken over.
KEPT = 10_000
# Seconds for which a request waits for a leader unless its author says otherwise: longer than any election, shorter
# than it takes a person to forget what was asked for.
EXPIRES = 300.0
# Bytes of a number in an entry.
_LONGEST_NUMBER = 30
# Requests taken over in one round: enough for a script of an operator, few enough for a round to stay short.
PER_ROUND = 100


async def send_request(
    side: SideStreams,
    user: str,
    verb: str,
    arguments: Sequence[str],
    *,
    expires: float | None = None,
    key: str | None = None,
) -> str:
    """Writes a request into a user's stream and returns its id there.

    Args:
        side: where.
        user: who asks.
        verb: what for.
        arguments: what the verb is about.
        expires: domain time by which a leader must have taken it over; None for never.
        key: of several requests of a user with one key, one is carried out.

    Raises:
        UserError: a word of it is too long, or no text; the leader would reject it.
    """
    problem = problem_with_text("the name of the user", user, LONGEST_NAME) or problem_with_request(verb, arguments)
    if key is not None:
        problem = problem or problem_with_text("the key", key, LONGEST_NAME)
    if problem is not None:
        raise UserError(f"{verb}: {problem}")
    fields = {"verb": verb, "arguments": json.dumps(list(arguments))}
    if expires is not None:
        fields["expires"] = repr(expires)
    if key is not None:
        fields["key"] = key
    return await side.add(f"{KIND}:{user}", fields, keep=KEPT)


async def pending_requests(side: SideStreams, state: ClusterState) -> list[Request]:
    """Returns what no leader has taken over yet, oldest first; what cannot be used has a `problem`."""
    streams = await side.names(KIND)
    after = {name: state.requests.get(name.partition(":")[2], START_ID) for name in streams}
    found = [
        (place_of(entry.id), _request(name.partition(":")[2], entry))
        for name, entries in (await _read(side, after)).items()
        for entry in entries
    ]
    found.sort(key=lambda item: item[0])
    return [request for _, request in found[:PER_ROUND]]


async def forget_received(side: SideStreams, state: ClusterState) -> None:
    """Removes the requests whose receipt is on the log; what was of no use is set aside first, as it was written.

    Args:
        side: where they lie.
        state: the fold of what was read back from the log, not of what somebody is about to append.
    """
    for user, last in sorted(state.requests.items()):
        name = f"{KIND}:{user}"
        try:
            entries = (await side.read({name: START_ID}, count=KEPT)).get(name, ())
        except UserError as error:
            _log.debug("requests in '%s' cannot be read: %s", name, error)
            continue
        received = [entry for entry in entries if place_of(entry.id) <= place_of(last)]
        for entry in received:
            problem = _request(user, entry).problem
            if problem is not None:
                await _set_aside(side, user, entry, problem)
        await side.drop(name, [entry.id for entry in received])


async def read_set_aside(side: SideStreams) -> list[dict[str, str]]:
    """Returns what was set aside, oldest first: whose it was, its entry, and why."""
    entries = (await side.read({SET_ASIDE: START_ID}, count=SET_ASIDE_KEPT)).get(SET_ASIDE, ())
    return [
        {name: entry.fields.get(name, b"").decode(errors="replace") for name in ("user", "request", "problem")}
        for entry in entries
    ]


async def _set_aside(side: SideStreams, user: str, entry: SideEntry, problem: str) -> None:
    about = {"user": user, "request": entry.id, "problem": problem}
    raw = {f"raw:{field}": value[:SET_ASIDE_LONGEST] for field, value in entry.fields.items()}
    await side.add(SET_ASIDE, {**about, **raw}, keep=SET_ASIDE_KEPT)


async def _read(side: SideStreams, after: Mapping[str, str]) -> Mapping[str, Sequence[SideEntry]]:
    """Reads all streams at once; when one of them is none, all the others are read all the same."""
    try:
        return await side.read(after, count=PER_ROUND)
    except UserError:
        found: dict[str, Sequence[SideEntry]] = {}
        for name, position in after.items():
            try:
                found.update(await side.read({name: position}, count=PER_ROUND))
            except UserError as error:
                _log.debug("requests in '%s' cannot be read: %s", name, error)
        return found


def _request(user: str, entry: SideEntry) -> Request:
    try:
        verb, arguments = entry.fields["verb"].decode(), entry.fields["arguments"]
        words = read_json(arguments) if len(arguments) <= SET_ASIDE_LONGEST else None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("the arguments are no list of texts, or too long")  # noqa: TRY301 - one way out
        key = entry.fields["key"].decode() if "key" in entry.fields else None
        problem = problem_with_request(verb, words)
        if key is not None:
            problem = problem or problem_with_text("the key", key, LONGEST_NAME)
        if problem is None:
            return Request(user, entry.id, verb, tuple(words), expires=_expiry(entry), key=key)
    except KeyError as error:
        problem = f"the entry has no field {error}"
    except (UnicodeDecodeError, ValueError) as error:
        problem = f"the entry cannot be read ({error})"
    return Request(user, entry.id, "?", (), shown(problem))


def _expiry(entry: SideEntry) -> float | None:
    """Returns the time by which a request must have been taken over; raises ValueError for what is no time."""
    text = entry.fields.get("expires")
    if text is None:
        return None
    expires = float(text) if len(text) <= _LONGEST_NUMBER else nan
    if not isfinite(expires):
        raise ValueError("'expires' is no time")
    return expires
