"""Texts about what the leader decides on resources, and about the balancer."""

from collections.abc import Callable

from events.catalog.resources import STATES
from events.envelope import Event
from haes.journal.texts import Lines, choose, say, values

_CHANGED = "service '{subject}': state changed from '{previous}' to '{state}'"
# Payload fields that the line of a change of state shows, in this order.
_SHOWN = ("node", "target", "timeout")


def _decision(event: Event, state: str) -> Lines:
    """Says what led to a change of state, where it is not plain from the change itself."""
    payload, because = event.payload, event.payload.get("because")
    if because == "rebalance":
        which, node = ("current", payload["node"]) if state == "started" else ("new", payload["target"] or "")
        return [("info", f"service {event.subject}: re-balance selected {which} node {node} for startup")]
    if state == "request_stop" and because == "command":
        timeout = payload["timeout"]
        if timeout == 0:
            return [("info", f"request immediate service hard-stop for service '{event.subject}'")]
        return [("info", f"request graceful stop with timeout '{timeout}' for service '{event.subject}'")]
    if state in {"migrate", "relocate"} and because:
        running = " (running)" if because == "placement" and state == "migrate" else ""
        return [("info", f"{state} service '{event.subject}' to node '{payload['target']}'{running}")]
    return []


def _entered(state: str) -> Callable[[Event], Lines]:
    def entry(event: Event) -> Lines:
        payload = event.payload
        shown = [f"{name} = {'' if payload[name] is None else payload[name]}" for name in _SHOWN if name in payload]
        details = f"  ({', '.join(shown)})" if shown else ""
        text = _CHANGED.format_map(values(event, state=state)) + details
        return [*_decision(event, state), ("info", text)]

    return entry


def _removed(event: Event) -> Lines:
    reason = {"ignored": "ignored state requested", "no_config": "no config"}[event.payload["reason"]]
    return [("info", f"removing stale service '{event.subject}' ({reason})")]


def _deferred(event: Event) -> Lines:
    state = event.payload["state"]
    level = "warning" if state in {"fence", "recovery"} else "info"
    return [(level, f"deferring disarm - service '{event.subject}' is in '{state}' state")]


def _queued(event: Event) -> Lines:
    verb, target, leader = event.payload["verb"], event.payload["target"], event.payload.get("leader")
    if leader is None:
        return [("info", f"got crm command: {verb} {event.subject} {target}")]
    text = (
        f"crm command '{verb} {leader} {target}' - {verb} service '{event.subject}' to node '{target}'"
        f" (service '{event.subject}' in positive affinity with service '{leader}')"
    )
    return [("info", text)]


def _confirmed(event: Event) -> Lines:
    failed = event.payload["failed_nodes"]
    if not failed:
        return []
    node = event.payload["node"]
    return [
        (
            "info",
            f"relocation policy successful for '{event.subject}' on node '{node}', failed nodes: {', '.join(failed)}",
        )
    ]


def _start_failed(event: Event) -> Lines:
    payload, plan = event.payload, event.payload["plan"]
    if plan == "relocate":
        return [
            (
                "warning",
                f"starting service {event.subject} on node '{payload['node']}' failed, relocating service.",
            )
        ]
    if plan == "give_up":
        nodes = ", ".join(payload["failed_nodes"])
        return [
            (
                "err",
                f"recovery policy for service {event.subject} failed, entering error state. Failed nodes: {nodes}",
            )
        ]
    return [("err", f"service '{event.subject}' got unrecoverable error (exit code {payload['exit_code']})")]


def _start_retried(event: Event) -> Lines:
    nodes = ", ".join(event.payload["failed_nodes"])
    text = (
        f"Start Error Recovery: Tried all available nodes for service '{event.subject}', retry"
        f" start on current node. Tried nodes: {nodes}"
    )
    return [("warning", text)]


# The exit code of a resource that is registered on another node.
_WRONG_NODE = 3


def _motion_failed(event: Event) -> Lines:
    exit_code = event.payload["exit_code"]
    if exit_code == _WRONG_NODE:
        return [("err", f"service '{event.subject}' - migration failed: service registered on wrong node!")]
    return [("err", f"service '{event.subject}' - migration failed (exit code {exit_code})")]


def _recovered(event: Event) -> Lines:
    previous, node = event.payload["previous"], event.payload["node"]
    if previous == node:
        return [("info", f"recover service '{event.subject}' to previous failed and fenced node '{node}' again")]
    return [("info", f"recover service '{event.subject}' from fenced node '{previous}' to node '{node}'")]


def _balance_motion(event: Event) -> Lines:
    payload = event.payload
    before, after = payload["before"] * 100, payload["after"] * 100
    text = (
        f"auto rebalance - {payload['verb']} {payload['leader']} to {payload['target']}"
        f" (expected change for imbalance from {before:.1f}% to {after:.1f}%)"
    )
    return [("info", text)]


def _balance_plan(event: Event) -> Lines:
    payload = event.payload
    count = len(payload["steps"])
    motions = "one motion" if count == 1 else f"{count} motions"
    if not payload["at_rest"]:
        proved = "as far as it goes"
    elif count <= payload["bound"]:
        proved = "fewer cannot do it"
    else:
        proved = f"fewer than {payload['bound']} cannot do it"
    return [("info", f"auto rebalance - plan {payload['number']}: {motions}, {proved}")]


def _balance_failed(event: Event) -> Lines:
    payload = event.payload
    begin = (
        f"auto rebalance - {payload['verb']} {payload['resource']} to {payload['target']} did not succeed"
        f" (attempt {payload['attempts']}), not retrying it"
    )
    if payload["policy"] == "time":
        return [("warning", f"{begin} for {payload['until'] - event.at:g}s")]
    if payload["policy"] == "series":
        return [("warning", f"{begin} in this series and the next {payload['skip']}")]
    return []


_DROPPED: dict[str, tuple[str, str]] = {
    "target_not_online": ("err", "ignore service '{subject}' {verb} request - node '{target}' not online"),
    "already_there": ("info", "ignore service '{subject}' {verb} request - service already on node '{target}'"),
    "already_stopped": ("info", "ignore service '{subject}' {verb} request - service already stopped"),
}

RESOURCE_TEXTS: dict[str, Callable[[Event], Lines]] = {
    "resource.added": say("info", "adding new service '{subject}' on node '{node}'"),
    "resource.removed": _removed,
    **{f"resource.{state}": _entered(state) for state in STATES},
    "resource.frozen_by_disarm": say("info", "disarm: freezing service '{subject}' (was '{previous}')"),
    "resource.disarm_deferred": _deferred,
    "resource.tracking_suspended": say("info", "disarm: suspending HA tracking for service '{subject}'"),
    "resource.moved_while_disarmed": say(
        "info", "service '{subject}': updating node '{previous}' => '{node}' (changed while disarmed)"
    ),
    "resource.location_fixed": say("info", "fixup service '{subject}' location ({previous} => {node})"),
    "resource.motion_queued": _queued,
    "resource.stop_queued": say("info", "got crm command: stop {subject} {timeout}"),
    "resource.request_dropped": choose("reason", _DROPPED),
    "resource.confirmed": _confirmed,
    "resource.start_failed": _start_failed,
    "resource.start_retried": _start_retried,
    "resource.motion_failed": _motion_failed,
    "resource.start_balance_ignored": say(
        "info", "service '{subject}' - rebalance-on-start request ignored - service already running"
    ),
    "resource.stop_failed": say("err", "service '{subject}' stop failed (exit code {exit_code})"),
    "resource.recovered": _recovered,
    "resource.recovery_failed": say(
        "err", "recovering service '{subject}' from fenced node '{node}' failed, no recovery node found"
    ),
    "resource.unlocked": say(
        "warning", "removed leftover lock '{lock}' from recovered service '{subject}' to allow its start."
    ),
    "resource.maintenance_ended": choose(
        "how",
        {
            "returns": ("info", "moving service '{subject}' back to '{node}', node came back from maintenance."),
            "dropped": ("info", "dropping maintenance fallback node '{node}' for '{subject}'"),
            "stale": (
                "info",
                "service '{subject}': clearing stale maintenance node '{node}' setting (is current node)",
            ),
        },
    ),
    "resource.state_unknown": say("err", "service '{subject}' - unknown state '{state}' in service configuration"),
}

BALANCE_TEXTS: dict[str, Callable[[Event], Lines]] = {
    "balance.motion": _balance_motion,
    "balance.failed": _balance_failed,
    "balance.plan": _balance_plan,
    "balance.plan_ended": say("info", "auto rebalance - plan {number} ended: {reason}"),
}
