"""Why the balancer did nothing, and why it left something out, in words; the reasons themselves stand in events."""

from collections.abc import Callable, Mapping
from typing import Any

CEILING = "ha-auto-rebalance-max-target-load"
_NOTHING = {
    "scheduler_mode": "the scheduler mode knows no loads (setting ha)",
    "other_balancer": "the platform balances by itself",
    "motion_running": "a motion waits or is under way",
    "balanced": "the load is balanced",
    "paused": "it pauses after failures in a row",
    "disarmed": "HA is out of action",
    "loads_unknown": "the loads are not known",
    "everything_excluded": "everything that could move is left out",
    "no_legal_target": "the rules and the nodes that are online leave no target",
    "nothing_to_move": "there is nothing that could move",
    "no_improvement": "no motion makes it better",
    "under_margin": "the best motion makes it better by less than ha-auto-rebalance-margin",
    "preflight_undecided": "the best motions cannot work, and no other was looked at in this round",
}
_LEFT_OUT = {
    "flag": "auto_rebalance is off for it",
    "cooldown": "it was moved and rests",
    "sample": "its load was not measured",
    "backoff": "a motion there failed before",
    "node": "too many motions to the node failed",
    "preflight": "its driver says that it cannot work there",
    "parked": "what happened to it could not be read (haes parked)",
    "ceiling": f"the target would be over its ceiling ({CEILING})",
}


def why_nothing(reason: str, details: Mapping[str, Any], say_moment: Callable[[float], str]) -> str:
    """Returns why the balancer did nothing.

    Args:
        reason: of the refusal.
        details: of the refusal.
        say_moment: returns a domain time in words.
    """
    words = _NOTHING.get(reason, reason.replace("_", " "))
    words += "".join(f", {name} {details[name]}" for name in ("mode", "resource") if details.get(name))
    imbalance, until = details.get("imbalance"), details.get("until")
    if isinstance(imbalance, int | float):
        words += f", imbalance {imbalance * 100:.1f}%"
    if isinstance(until, int | float):
        words += f", until {say_moment(until)}"
    return words


def why_left_out(reason: str) -> str:
    """Returns what kind of reason something was left out for."""
    return _LEFT_OUT.get(reason, reason.replace("_", " "))


def left_out(item: Mapping[str, Any], say_moment: Callable[[float], str]) -> str:
    """Returns what was left out, and why: of one exclusion, as it stands in events.

    Args:
        item: the exclusion.
        say_moment: returns a domain time in words.
    """
    # Stored events may lack what this program writes.
    item = _Known(item)
    where = "everywhere" if item.get("target") is None else f"to {item['target']}"
    why = why_left_out(item["reason"])
    match item["reason"]:
        case "cooldown":
            why = f"rests until {_moment(item, say_moment)}"
        case "backoff":
            end = f"until {_moment(item, say_moment)}" if "until" in item else f"until series {item['first_series']}"
            why = f"failed {item['attempts']} times ({item['why']}), {end}"
        case "node":
            why = f"motions to the node failed ({item['why']}), none until {say_moment(item['until'])}"
        case "preflight":
            why = f"cannot work: {item['why']}"
        case "ceiling":
            why = f"would fill the node to {item['percent']}%, over its ceiling ({CEILING})"
    member = "" if item["resource"] == item["leader"] else f" (member {item['resource']})"
    return f"{item['leader']}{member} {where}: {why}"


def _moment(item: Mapping[str, Any], say_moment: Callable[[float], str]) -> str:
    until = item["until"]
    return say_moment(until) if isinstance(until, int | float) else str(until)


class _Known(dict[str, Any]):
    """What an event says; what it leaves out is unknown."""

    def __missing__(self, key: str) -> str:
        return "unknown"
