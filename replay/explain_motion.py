"""Why the balancer chose a motion, what else it could have chosen, and how the motion ended."""

from collections.abc import Iterable
from typing import Any

from events.envelope import Event
from events.errors import UserError
from haes.journal.balance_words import left_out
from replay.moments import say_moment

_ENDS = frozenset({"balance.moved", "balance.failed", "balance.dropped", "balance.motion_refused"})


def find_motion(events: Iterable[Event], number: int) -> Event:
    """Returns the event that issued a motion.

    Raises:
        UserError: the balancer issued no motion of that number.
    """
    issued = 0
    for event in events:
        if event.type == "balance.motion":
            issued += 1
            if event.payload["number"] == number:
                return event
    raise UserError(f"there is no motion {number}; the balancer issued {issued} up to here")


def explain_motion(event: Event) -> list[str]:
    """Says why the balancer chose a motion: what it brings, what else there was, and what was left out."""
    payload = event.payload
    begin = (
        f"motion {payload['number']} at {say_moment(event.at)} (event {event.n}, series {payload['series']},"
        f" policy {payload['policy']}, method {payload['method']}):"
    )
    effect = (
        f"  {payload['verb']} {', '.join(payload['members'])} from {payload['source']} to {payload['target']},"
        f" imbalance {payload['before'] * 100:.1f}% to {payload['after'] * 100:.1f}%,"
        f" after {payload['streak']} rounds over the threshold"
    )
    lines = [begin, effect]
    if payload.get("plan") is not None:
        lines.append(f"  it is step {payload['step']} of plan {payload['plan']}")
    else:
        lines.append("  the next best were:")
        lines += [
            f"    {item['resource']} from {item['source']} to {item['target']}: {item['after'] * 100:.1f}%"
            for item in payload["alternatives"]
        ] or ["    none"]
    lines.append("  left out were:")
    lines += [f"    {left_out(item, say_moment)}" for item in payload["excluded"]] or ["    none"]
    return lines


def motion_ends(events: Iterable[Event], motion: Event) -> list[dict[str, Any]]:
    """Returns how a motion ended for each member, as JSON-like data; what has not ended has no `n`."""
    open_members = dict.fromkeys(motion.payload["members"])
    ends: list[dict[str, Any]] = []
    for event in events:
        if event.n <= motion.n:
            continue
        if event.type == "balance.motion":
            break
        if event.type in _ENDS and event.payload["resource"] in open_members:
            resource, payload = event.payload["resource"], event.payload
            how = event.type.partition(".")[2]
            why = payload.get("reason") if how != "moved" else None
            ends.append({"n": event.n, "at": event.at, "resource": resource, "end": how, "why": why})
            # A refusal ends the motion for all of its members.
            for member in [resource] if how != "motion_refused" else list(open_members):
                open_members.pop(member, None)
    return ends + [{"resource": member, "end": "open"} for member in open_members]


def end_lines(ends: Iterable[dict[str, Any]]) -> list[str]:
    """Returns how a motion ended as lines for people."""
    lines = ["  it ended:"]
    for end in ends:
        if end["end"] == "open":
            lines.append(f"    {end['resource']}: not yet")
            continue
        why = f" ({end['why']})" if end["why"] else ""
        said = {"moved": "arrived", "motion_refused": "refused by the manager"}.get(end["end"], end["end"])
        lines.append(f"    {end['resource']}: {said}{why}, at {say_moment(end['at'])} (event {end['n']})")
    return lines
