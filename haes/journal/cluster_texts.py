"""Texts about the cluster, its nodes, managers and the simulated world."""

from collections.abc import Callable

from events.envelope import Event
from haes.journal.texts import Lines, choose, say, values
from haes.rules.checks import Finding
from haes.rules.messages import drop_message

_NODE_STATE = "node '{subject}': state changed from '{previous}' => '{state}'"
_STATUS = "status change {previous} => {state}"


def _state_text(template: str, state: str) -> Callable[[Event], Lines]:
    def entry(event: Event) -> Lines:
        return [("info", template.format_map(values(event, state=state)))]

    return entry


def _rules(event: Event) -> Lines:
    return [
        ("info", drop_message(Finding(rule, option, code, details)))
        for rule, option, code, details in event.payload["dropped"]
    ]


def _scheduler(event: Event) -> Lines:
    mode, previous = event.payload["mode"], event.payload.get("previous")
    if previous is not None:
        return [("info", f"switching scheduler mode from '{previous}' to '{mode}'")]
    return [] if mode == "basic" else [("info", f"using scheduler mode '{mode}'")]


def _usage_problem(event: Event) -> Lines:
    task, problem = event.payload["task"], event.payload["problem"]
    resource, mode = event.payload.get("resource"), event.payload["mode"]
    if task == "add":
        return [("warning", f"unable to add service '{resource}' - {problem}")]
    if task == "start":
        return [("err", f"unable to score nodes according to {mode} usage for service '{resource}' - {problem}")]
    return [("warning", f"unable to score best balancing migration - {problem}")]


_FENCED = "fencing: acknowledged - got agent lock for node '{subject}'"

_ABORTED = {
    "not_quorate": "cluster is not quorate",
    "no_nodes": "node list is empty",
    "node_not_online": "node '{node}' is not online",
    "agent_unknown": "could not retrieve state for lrm '{node}'",
    "agent_not_ready": "lrm '{node}' is not in state 'active' or 'idle'",
    "agent_mode": "lrm '{node}' is not in mode 'active'",
    "version_unknown": "could not retrieve version from node '{node}'",
    "version_too_old": "node '{node}' needs at least pve-manager version '{version}'",
}
# Rounds are said to people in seconds of the usual pace.
_ROUND = 10


def _groups(event: Event) -> Lines:
    step = event.payload["step"]
    if step == "aborted":
        reason = _ABORTED[event.payload["reason"]].format_map(values(event))
        return [("err", f"abort ha groups migration: {reason}")]
    if step == "retry":
        rounds = event.payload["rounds"]
        return [("notice", f"retry ha groups migration in {rounds} rounds (~ {rounds * _ROUND} seconds)")]
    level = "err" if step == "failed" else "notice"
    return [(level, _GROUP_STEPS[step].format_map(values(event)))]


_GROUP_STEPS = {
    "start": "start ha group migration...",
    "node_state": "ha groups migration: node '{node}' is in state '{state}'",
    "agent_state": "ha groups migration: lrm '{node}' is in state '{state}' and mode '{mode}'",
    "node_version": "ha groups migration: node '{node}' has version '{version}'",
    "rules_migrated": "ha groups migration: migration to rules config successful",
    "resources_migrated": "ha groups migration: migration to resources config successful",
    "groups_deleted": "ha groups migration: group config deletion successful",
    "succeeded": "ha groups migration successful",
    "failed": "ha groups migration failed",
}

CLUSTER_TEXTS: dict[str, Callable[[Event], Lines]] = {
    "rules.applied": _rules,
    "groups.migration": _groups,
    "lock.acquired": say("info", "got lock '{lock}'"),
    "scheduler.selected": _scheduler,
    "scheduler.fallback": say("warning", "fallback to 'basic' scheduler mode, init for '{mode}' failed - {problem}"),
    "usage.problem": _usage_problem,
    "notification.sent": choose(
        "message",
        {
            "fencing_begins": ("email", "{kind}: Try to fence node '{subject}'"),
            "fenced": ("email", "{kind}: " + _FENCED),
        },
    ),
    "disarm.requested": say("info", "got crm command: disarm-ha {mode}"),
    "disarm.completed": say("info", "all LRMs disarmed, HA stack is now fully disarmed"),
    "arm.requested": say("info", "got crm command: arm-ha"),
    **{
        f"node.{state}": _state_text(_NODE_STATE, state)
        for state in ("online", "maintenance", "unknown", "fence", "gone")
    },
    "node.removed": say("notice", "deleting gone node '{subject}', not a cluster member anymore."),
    "node.fenced": say("info", _FENCED),
    "node.stray_fence": say("notice", "node '{subject}' in fence state but no services to-fence! admin interference?!"),
    "node.killed": say("info", "killed by poweroff"),
    **{
        f"manager.{state}": _state_text(_STATUS, state)
        for state in ("wait_for_quorum", "master", "slave", "lost_manager_lock")
    },
    "manager.shutdown_requested": say("info", "server received shutdown request"),
    "manager.lock_released": say("info", "voluntary release CRM lock"),
    "manager.lock_release_failed": say("notice", "CRM lock release failed, let the lock timeout"),
    "manager.went_idle": say("info", "cluster had no service configured for {rounds} rounds, going idle."),
    "manager.round_skipped": say("notice", "temporary inconsistent cluster state (cfs restart?), skip round"),
    "manager.round_failed": say("err", "got unexpected error - {error}"),
    "manager.status_unreadable": say("err", "could not read manager status: {error}"),
    "manager.configuration_unreadable": say("err", "could not read service config: {error}"),
    "manager.took_over_disarmed": say("info", "taking over as disarmed master, skipping watchdog"),
    "manager.watchdog_released": say("info", "HA stack fully disarmed, releasing CRM watchdog"),
    "manager.rearmed": say("info", "re-arming HA stack"),
    "manager.offline": say("info", "master seems offline"),
    "manager.exited": say("info", "exit (loop end)"),
    "simulation.started": say("info", "starting simulation"),
    "simulation.command": say("info", "execute {command}"),
    "simulation.watchdog_fired": say("info", "server '{node}' stopped by poweroff (watchdog)"),
    "simulation.round_skipped": choose(
        "part", {"crm": ("info", "skipping CRM round"), "lrm": ("info", "skipping LRM round")}
    ),
    "simulation.overcommitted": say("warning", "overcommitted {what} on '{name}'"),
    "simulation.aborted": say("err", "exit simulation - {error}"),
    "simulation.ended": say("info", "exit simulation - done"),
}
