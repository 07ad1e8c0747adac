"""Texts about agents and what they do."""

from collections.abc import Callable

from events.envelope import Event
from haes.journal.texts import Lines, say, values

_STATUS = "status change {previous} => {state}"

# {kind} is the way in which the agent leaves: reboot, shutdown.
_LEAVING = {
    "maintenance": "{kind} LRM, doing maintenance, removing this node from active list",
    "freeze": "{kind} LRM, stop and freeze all services",
    "stop": "shutdown LRM, stop all services",
    "restart": "restart LRM, freeze all services",
    "wait_for_maintenance": "Restarting LRM in maintenance mode may be delayed until all services are moved",
}


def _entered(state: str) -> Callable[[Event], Lines]:
    def entry(event: Event) -> Lines:
        return [("info", _STATUS.format_map(values(event, state=state)))]

    return entry


# This one line has always begun with a line break and a tab in place of its level; whoever compares journals to the
# byte expects them.
_ODD_LEVEL = "\n\t  info"


def _leaving(event: Event) -> Lines:
    plan, policy, kind = event.payload["plan"], event.payload["policy"], event.payload["kind"]
    if plan == "ignore_policy":
        if policy == "migrate":
            return [("info", f"{kind} LRM, ignore maintenance policy, already in maintenance mode")]
        return [("info", f"{kind} LRM, ignore {policy} policy as manual maintenance mode is enabled")]
    level = _ODD_LEVEL if plan == "wait_for_maintenance" else "info"
    return [(level, _LEAVING[plan].format_map(values(event)))]


def _fence_noticed(event: Event) -> Lines:
    during = " during maintenance mode" if event.payload["maintenance"] else ""
    return [("err", f"node needs to be fenced{during} - releasing agent_lock")]


def _disarmed(event: Event) -> Lines:
    during = " during maintenance" if event.payload["maintenance"] else ""
    return [("info", f"HA disarm requested{during}, releasing agent lock and watchdog")]


def _status_unwritable(event: Event) -> Lines:
    return [("err", "unable to {task} lrm status file - {error}".format_map(values(event)))]


AGENT_TEXTS: dict[str, Callable[[Event], Lines]] = {
    **{
        f"agent.{state}": _entered(state)
        for state in ("wait_for_agent_lock", "active", "lost_agent_lock", "maintenance")
    },
    "agent.shutdown_requested": say("info", "got shutdown request with shutdown policy '{policy}'"),
    "agent.leaving": _leaving,
    "agent.status_unwritable": _status_unwritable,
    "agent.state_unreadable": say("err", "updating service status from manager failed: {error}"),
    "agent.fence_noticed": _fence_noticed,
    "agent.disarmed": _disarmed,
    "agent.went_idle": say("info", "node had no service configured for {rounds} rounds, going idle."),
    "agent.round_skipped": say("notice", "temporary inconsistent cluster state (cfs restart?), skip round"),
    "agent.round_failed": say("err", "got unexpected error - {error}"),
    "agent.leaving_blocked": say(
        "err", "got shutdown request in state 'lost_agent_lock' - detected {running} running services"
    ),
    "agent.gave_up": say("err", "lost agent lock and restart request for over 90 seconds - giving up!"),
    "agent.exited": say("info", "exit (loop end)"),
}


def _stopping(event: Event) -> Lines:
    if event.payload.get("relocate"):
        suffix = " (relocate)"
    elif event.payload.get("timeout") is not None:
        suffix = f" (timeout={event.payload['timeout']})"
    else:
        suffix = ""
    return [("info", f"stopping service {event.subject}{suffix}")]


def _locked(event: Event) -> Lines:
    lock, task = event.payload["lock"], event.payload["task"]
    return [("err", f"service '{event.subject}' locked ({lock}), unable to {task}!")]


def _died(event: Event) -> Lines:
    return [("err", f"service {event.subject} ended by itself: {event.about}")]


def _motion_failed(event: Event) -> Lines:
    return [("warning", f"service {event.subject} did not move {event.about}")]


def _node_paused(event: Event) -> Lines:
    return [("err", f"nothing is moved to node '{event.subject}' for a while: {event.about}")]


JOB_TEXTS: dict[str, Callable[[Event], Lines]] = {
    "job.starting": say("info", "starting service {subject}"),
    "job.running": say("info", "service status {subject} started"),
    "job.start_failed": say("warning", "unable to start service {subject}"),
    "job.stopping": _stopping,
    "job.stopped": say("info", "service status {subject} stopped"),
    "job.stop_failed": say("info", "unable to stop service {subject} (still running)"),
    "job.moving": say("info", "service {subject} - start {verb} to node '{target}'"),
    "job.moved": say("info", "service {subject} - end {verb} to node '{target}'"),
    "job.move_failed": say("err", "service {subject} not moved (migration error)"),
    "job.locked": _locked,
    "job.live_refused": say("warning", "unable to live migrate running container, fallback to relocate"),
    "job.start_balance_skipped": say("info", "ignoring rebalance-on-start for service {subject} - already running"),
    "job.needs_help": say(
        "err",
        "service {subject} is in an error state and needs manual intervention."
        " Look up 'ERROR RECOVERY' in the documentation.",
    ),
    "job.wrong_node": say("err", "service '{subject}' not on this node"),
    "job.kind_unknown": say("err", "service type '{kind}' not implemented"),
    "job.unconfigured": say("err", "missing resource configuration for '{subject}'"),
    "job.target_missing": say("err", "{state} '{subject}' failed - missing target"),
    "job.not_implemented": say("err", "implement me (cmd '{state}')"),
    "job.crashed": say("err", "resource agent {subject} finished - failed to execute"),
    "job.retrying": say("warning", "restart policy: retry number {attempt} for service '{subject}'"),
    "service.died": _died,
    "motion.failed": _motion_failed,
    "motion.node_paused": _node_paused,
    "job.gave_up": say("err", "unable to start service {subject} on local node after {attempts} retries"),
}
