"""Events about resources as the leader decides on them; one type for each state entered."""

from events.schema import declare

STATES = (
    "request_start",
    "request_start_balance",
    "started",
    "request_stop",
    "stopped",
    "migrate",
    "relocate",
    "fence",
    "recovery",
    "freeze",
    "error",
)

declare("resource.configured", "changes unset?", meaning="configuration values were set, others removed")
declare("resource.unconfigured", meaning="the resource's configuration was deleted")
declare("resource.added", "node state", meaning="the leader looks after the resource from now on")
declare("resource.removed", "reason", meaning="the leader no longer looks after the resource")
for _state in STATES:
    declare(
        f"resource.{_state}",
        "previous node? target? timeout? because? origin?",
        meaning=f"the resource is {_state} from now on; it stays on its node unless one is given",
    )
declare("resource.frozen_by_disarm", "previous", meaning="the resource is frozen because the cluster is being disarmed")
declare("resource.disarm_deferred", "state", meaning="disarming waits for the resource to leave this state")
declare("resource.tracking_suspended", meaning="the resource is not looked after while the cluster is disarmed")
declare("resource.reset", meaning="what the leader had in mind for the resource is forgotten because of disarming")
declare("resource.moved_while_disarmed", "previous node", meaning="the resource was moved by hand meanwhile")
declare(
    "resource.location_fixed",
    "previous node",
    meaning="the resource is where its configuration says, not where it was thought",
)
declare(
    "resource.motion_queued",
    "verb target origin command? leader?",
    meaning="the resource is to move to the target; origin: what asked for it",
)
declare("resource.stop_queued", "timeout command", meaning="the resource is to stop")
declare("resource.request_dropped", "verb reason target?", meaning="a queued motion or stop came to nothing")
declare(
    "resource.confirmed",
    "node failed_nodes",
    meaning="the agent says the resource runs; nodes that failed before are forgotten",
)
declare(
    "resource.start_failed",
    "exit_code plan node failed_nodes",
    meaning="the agent could not start the resource (plan: relocate, give_up, error)",
)
declare("resource.start_retried", "failed_nodes", meaning="no other node is left, the start is tried where it is")
declare("resource.motion_failed", "exit_code", meaning="the agent could not move the resource")
declare("resource.start_balance_ignored", meaning="the resource runs already and is not moved before its start")
declare("resource.stop_failed", "exit_code", meaning="the agent could not stop the resource")
declare("resource.recovered", "previous node", meaning="the resource of a fenced node was given to another")
declare("resource.recovery_failed", "node", meaning="no node can take the resource of a fenced node yet")
declare("resource.unlocked", "lock", meaning="a lock left over from a fenced node was removed")
declare("resource.maintenance_noted", "node", meaning="the resource leaves this node for maintenance and may come back")
declare("resource.maintenance_ended", "node how", meaning="the way back is done, dropped, or no longer needed")
declare("resource.state_unknown", "state", meaning="the configuration asks for a state that does not exist")
declare(
    "resource.found",
    "node",
    meaning="it runs on this node, as its agent sees, whatever a log that lost its tail says",
)
declare(
    "resource.stray_stopped",
    "node because",
    meaning="the resource ran on a node where it does not belong, and was stopped",
)
