"""What operators ask for, between their own streams and the leader's round: written by users, read by the leader.

The server lets each user write into the stream that bears his name alone, so that the name on a command is true.
"""

import json
from collections.abc import Sequence

from events.log.side import START_ID, SideEntry, SideStreams, place_of
from haes.manager.inputs import Request
from haes.state.cluster import ClusterState

KIND = "commands"
# Requests that one user's stream keeps at most; the leader removes what it has taken over.
KEPT = 10_000
# Requests taken over in one round: enough for a script of an operator, few enough for a round to stay short.
PER_ROUND = 100


async def send_request(side: SideStreams, user: str, verb: str, arguments: Sequence[str]) -> str:
    """Writes a request into a user's stream and returns its id there."""
    return await side.add(f"{KIND}:{user}", {"verb": verb, "arguments": json.dumps(list(arguments))}, keep=KEPT)


async def pending_requests(side: SideStreams, state: ClusterState) -> list[Request]:
    """Returns what no leader has taken over yet, oldest first; entries that are no requests come with verb `?`."""
    streams = await side.names(KIND)
    after = {name: state.requests.get(name.partition(":")[2], START_ID) for name in streams}
    found = [
        (place_of(entry.id), _request(name.partition(":")[2], entry))
        for name, entries in (await side.read(after, count=PER_ROUND)).items()
        for entry in entries
    ]
    found.sort(key=lambda item: item[0])
    return [request for _, request in found[:PER_ROUND]]


async def forget_requests(side: SideStreams, requests: Sequence[Request]) -> None:
    """Removes requests that are on the record now."""
    for user in {request.user for request in requests}:
        await side.drop(f"{KIND}:{user}", [request.id for request in requests if request.user == user])


def _request(user: str, entry: SideEntry) -> Request:
    try:
        verb = entry.fields["verb"].decode()
        arguments = json.loads(entry.fields["arguments"])
        if isinstance(arguments, list) and all(isinstance(argument, str) for argument in arguments):
            return Request(user, entry.id, verb, tuple(arguments))
    except (KeyError, UnicodeDecodeError, ValueError):
        pass
    return Request(user, entry.id, "?", ())
