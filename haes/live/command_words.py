"""What a command asks for and what became of it, in words for the person who typed it; decides nothing."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from events.envelope import Event
from haes.exit_codes import INVALID_PARAMETER, UNKNOWN_COMMAND, UNKNOWN_KIND, UNKNOWN_RESOURCE, WRONG_NODE
from haes.journal import journal_lines
from haes.journal.balance_words import why_nothing

# Why a start or a stop failed, by the exit code of the job; others are named by their number.
_EXIT_CODES = {
    1: "it does not stay up",
    WRONG_NODE: "it is registered on another node",
    UNKNOWN_KIND: "no driver there knows this kind of resource",
    UNKNOWN_COMMAND: "its agent does not know this job",
    INVALID_PARAMETER: "a value of its configuration cannot be used there",
    UNKNOWN_RESOURCE: "its agent does not know its configuration",
    -1: "the job ended without a result; the log of the agent says more",
}
_ADVICE = "{verb} {leader} from {source} to {target}: imbalance {before:.1f} % to {after:.1f} %"


def what_is_asked(verb: str, arguments: Sequence[str]) -> str:
    """Returns what a command asks for, as something that is to come."""
    say = _ASKED.get(verb)
    return " ".join([verb, *arguments]) if say is None else say(*arguments)


def what_is_done(verb: str, arguments: Sequence[str]) -> str:
    """Returns what a command has brought about, for those that are done with the leader's answer."""
    match verb, list(arguments):
        case "configure", [resource, _]:
            return f"the configuration of {resource} is changed"
        case "change-rules", _:
            return "the rules are changed"
        case "change-settings", _:
            return "the settings are changed"
        case "add-node", [node]:
            return f"{node} belongs to the cluster"
        case "remove-node", [node]:
            return f"{node} does not belong to the cluster any more"
        case "withdraw", [request]:
            return f"request {request} is withdrawn"
        case "confirm-fenced", [node]:
            return f"{node} counts as off; what it ran is started elsewhere"
        case "rebalance-retry", [resource, target]:
            where = f" to {target}" if target else ""
            return f"failed motions of {resource or 'all resources'}{where} are forgotten and may be tried again"
        case _:
            return f"done: {' '.join([verb, *arguments])}"


def why_refused(payload: Mapping[str, Any], arguments: Sequence[str], members: Sequence[str]) -> str:
    """Returns why a leader does not do what was asked.

    Args:
        payload: of its answer, `command.rejected`.
        arguments: of the command.
        members: the nodes of the cluster.
    """
    details = {name: str(value) for name, value in (payload.get("details") or {}).items()}
    match payload["reason"]:
        case "no_such_resource":
            return f"there is no resource '{arguments[0]}' in this cluster"
        case "node_not_online" if arguments and arguments[-1] not in members:
            return f"there is no node '{arguments[-1]}'; known are {', '.join(members)}"
        case "node_not_online":
            return f"node {arguments[-1]} is not online"
        case "negative_affinity":
            return "{other} runs on {target}, and the rules keep {resource} away from it".format_map(details)
        case "unknown":
            return f"the leader does not understand it: {payload['text']}"
        case "not_allowed":
            return details.get("problem", "it is not allowed")
        case "expired":
            return "it expired before a leader took it over (--expires says how long it may wait)"
        case "unusable" | "undecidable":
            return f"it cannot be carried out: {details.get('problem', 'no reason is on record')}"
        case reason:
            return str(reason).replace("_", " ")


def why_ignored(event: Event, arguments: Sequence[str]) -> str:
    """Returns why there is nothing to do for a command, from its answer `command.ignored`."""
    details = event.payload.get("details") or {}
    match event.payload["reason"]:
        case "already_there":
            return f"{arguments[0]} is on {arguments[-1]} already"
        case "disarmed":
            return "HA is out of action (disarmed), and so is maintenance; haes arm puts it back"
        case "already_in_maintenance":
            return f"{arguments[0]} is in maintenance already"
        case "disarmed_already":
            return f"HA is {details.get('state', 'disarmed')} already"
        case "not_disarmed":
            return "HA is in action already"
        case "repeated":
            return f"it was sent before, as command {details.get('first', '?')}"
        case "node_known":
            return f"{arguments[0]} belongs to the cluster already"
        case _:
            lines = journal_lines(event)
            return lines[0].text if lines else str(event.payload["reason"]).replace("_", " ")


def why_dropped(resource: str, payload: Mapping[str, Any]) -> str:
    """Returns why a motion or stop that was queued came to nothing, from `resource.request_dropped`."""
    match payload["reason"]:
        case "target_not_online":
            return f"{payload['target']} is not online any more"
        case "already_there":
            return f"{resource} is on {payload['target']} already"
        case "already_stopped":
            return f"{resource} is stopped already"
        case "unusable":
            return f"{resource} is in a state in which it can be neither moved nor stopped"
        case reason:
            return str(reason).replace("_", " ")


def why_exited(exit_code: int) -> str:
    """Returns what an exit code of a job means."""
    return _EXIT_CODES.get(exit_code, f"exit code {exit_code}")


def advice(event: Event) -> str:
    """Returns what the balancer would do, from `balance.advised`, or why nothing, from `balance.refused`."""
    payload = event.payload
    if event.type != "balance.advised":
        return f"nothing: {why_nothing(payload['reason'], payload['details'], lambda at: f'{at:.0f}')}"
    return _ADVICE.format_map({**payload, "before": payload["before"] * 100, "after": payload["after"] * 100})


def _configure(resource: str, text: str) -> str:
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if isinstance(values, dict) and values.keys() == {"state"}:
        wanted = {"started": "run", "stopped": "be stopped", "disabled": "be left alone, stopped"}
        if values["state"] in wanted:
            return f"{resource} is to {wanted[values['state']]}"
    return f"the configuration of {resource} is to change"


_ASKED: dict[str, Callable[..., str]] = {
    "migrate": lambda resource, target: f"{resource} is to move to {target}",
    "relocate": lambda resource, target: f"{resource} is to be stopped and started on {target}",
    "stop": lambda resource, timeout: f"{resource} is to be stopped within {timeout} s",
    "retry": lambda resource: f"{resource} is to begin anew, whatever it died of before",
    "configure": _configure,
    "unconfigure": lambda resource: f"{resource} is to leave the cluster",
    "enable-node-maintenance": lambda node: f"{node} is to be emptied for maintenance",
    "disable-node-maintenance": lambda node: f"{node} is to go back into service",
    "disarm-ha": lambda mode: f"HA is to be taken out of action ({mode})",
    "arm-ha": lambda: "HA is to be put back into action",
}
