"""Events about jobs: what an agent does to a resource on its node, and how it ended."""

from events.schema import declare

declare("job.starting", meaning="the resource is being started")
declare("job.running", meaning="the resource runs")
declare("job.start_failed", meaning="the resource does not run after its start")
declare("job.stopping", "timeout? relocate?", meaning="the resource is being stopped, perhaps in order to move")
declare("job.stopped", meaning="the resource stopped")
declare("job.stop_failed", meaning="the resource still runs after its stop")
declare("job.moving", "verb target", meaning="the resource is being moved")
declare("job.moved", "verb target", meaning="the resource is on its target from now on")
declare(
    "job.move_failed",
    "because? whole_node?",
    meaning="the resource could not be moved (whole_node: the reason holds for every resource that would go there)",
)
declare("job.locked", "lock task", meaning="the resource is locked, so the task was not done")
declare("job.live_refused", meaning="the resource cannot move while it runs and is stopped for it")
declare("job.start_balance_skipped", meaning="the resource runs already and is not moved")
declare("job.needs_help", meaning="the resource is in error and waits for people")
declare("job.wrong_node", meaning="the resource is not on this node")
declare("job.kind_unknown", "kind", meaning="no driver knows this kind of resource")
declare("job.unconfigured", meaning="the resource has no configuration")
declare("job.target_missing", "state", meaning="a motion was asked for without a target")
declare("job.not_implemented", "state", meaning="no job belongs to this state")
declare("job.crashed", meaning="the job ended without a result")
declare("job.retrying", "attempt", meaning="the start is tried again on the same node")
declare("job.gave_up", "attempts", meaning="the start failed too often on this node")
declare("job.done", "job state exit_code", meaning="the agent's report: how a job that the leader asked for ended")
