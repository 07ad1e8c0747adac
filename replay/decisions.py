"""Decides everything again from recorded inputs and says where that first leaves what was recorded."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from events.envelope import Event

# Event type -> fields that say where and by whom something was decided, not what.
_NO_DECISION = {
    "cluster.created": frozenset({"name"}),
    "leader.elected": frozenset({"program", "policy_version"}),
    "simulation.started": frozenset({"program", "policy_version"}),
}
# Characters of an event's payload that a message shows.
SHOWN = 200


def name_version(program: str | None, policy: int | None) -> str:
    """Returns the version that decided, in words."""
    return "not recorded" if policy is None else f"{program}, policy {policy}"


async def first_divergence(recorded: AsyncIterator[Event], again: Sequence[Event]) -> tuple[int, int, str | None]:
    """Compares what was recorded with what comes out again.

    Events after the end of a simulation, such as questions of operators, are nobody's decision and are left alone.

    Returns:
        How many events were equal; the number of the first one that is not, or of the last; what differs, or None.
    """
    equal = last = 0
    async for event in recorded:
        last = event.n
        if equal == len(again):
            return equal, last, f"recorded {say_event(event)}, recomputed nothing more"
        if essence(event) != essence(again[equal]):
            return equal, last, _difference(event, again[equal])
        equal += 1
        if event.type in {"simulation.ended", "simulation.aborted"}:
            break
    if equal < len(again):
        return equal, last, f"recorded nothing more, recomputed {say_event(again[equal])}"
    return equal, last, None


def essence(event: Event) -> dict[str, Any]:
    """Returns what makes an event the same when it is decided again: everything but where it lies in which log."""
    names = _NO_DECISION.get(event.type, frozenset())
    payload = {key: value for key, value in event.payload.items() if key not in names}
    return {
        "type": event.type,
        "subject": event.subject,
        "by": event.by,
        "at": event.at,
        "cause": event.cause,
        "correlation": event.correlation,
        "late": event.late,
        **{f"payload {key}": value for key, value in payload.items()},
    }


def _difference(recorded: Event, again: Event) -> str:
    if (recorded.type, recorded.subject) != (again.type, again.subject):
        return f"recorded {say_event(recorded)}, recomputed {say_event(again)}"
    parts = differing_fields(recorded, again)
    return f"{recorded.type} of {recorded.subject} at {recorded.at:g} s, recorded / recomputed: {parts}"


def differing_fields(one: Event, other: Event) -> str:
    """Returns the fields in which two events differ, with both values where they are short; the telling ones first."""
    left, right = essence(one), essence(other)
    short, long = [], []
    for key in left | right:
        values = (left.get(key), right.get(key))
        if values[0] == values[1]:
            continue
        name = key.removeprefix("payload ")
        if any(isinstance(value, list | dict) for value in values):
            long.append(name)
        else:
            short.append(f"{name} {values[0]} / {values[1]}")
    return ", ".join([*short, *long])


def say_event(event: Event) -> str:
    """Returns an event in short."""
    return f"{event.type} of {event.subject} at {event.at:g} s {dict(event.payload)}"[:SHOWN]
