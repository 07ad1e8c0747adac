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


def find_plan(events: Iterable[Event], motion: Event) -> Event | None:
    """Returns the plan that a motion is a step of; None when it is of none, or the plan is not among the events."""
    number = motion.payload.get("plan")
    if number is None:
        return None
    return next((item for item in events if item.type == "balance.plan" and item.payload["number"] == number), None)


def explain_motion(event: Event, plan: Event | None = None) -> list[str]:
    """Says why the balancer chose a motion: what it brings, what else there was, and what was left out.

    Args:
        event: the motion.
        plan: the plan that it is a step of, where there is one.
    """
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
        lines += [f"  it is step {payload['step']} of plan {payload['plan']}", *(_plan_lines(plan) if plan else [])]
    else:
        lines.append("  the next best were:")
        lines += [
            f"    {item['resource']} from {item['source']} to {item['target']}: {item['after'] * 100:.1f}%"
            for item in payload["alternatives"]
        ] or ["    none"]
    lines.append("  left out were:")
    lines += [f"    {left_out(item, say_moment)}" for item in payload["excluded"]] or ["    none"]
    return lines


def _plan_lines(plan: Event) -> list[str]:
    """Says what a plan was for, which steps it has, and why no shorter one was taken."""
    payload = plan.payload
    steps, bound = payload["steps"], payload["bound"]
    lines = [f"  that plan was for an imbalance of {payload['before'] * 100:.1f}%"]
    if payload["excess"]:
        lines[0] += " and nodes over the ceiling"
    lines += [
        f"    {number}. {step['resource']} from {step['source']} to {step['target']}: {step['after'] * 100:.1f}%"
        for number, step in enumerate(steps, start=1)
    ]
    if not payload["at_rest"]:
        lines.append("  no plan was found that leaves nothing to do; this one leaves least")
    elif len(steps) > bound:
        lines.append(f"  fewer than {bound} motions cannot do it; what lies between was not looked at in full")
    elif len(steps) > 1:
        lines.append(f"  a shorter one does not exist: no {len(steps) - 1} motions end under threshold and ceiling")
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
