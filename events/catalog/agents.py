"""Events about agents; one type for each state entered."""

from events.schema import declare

for _state in ("wait_for_agent_lock", "active", "lost_agent_lock", "maintenance"):
    declare(f"agent.{_state}", "previous", meaning=f"the agent is {_state} from now on")
declare("agent.reported", "state mode", meaning="what the cluster may know of the agent: its state and mode")
declare("agent.shutdown_requested", "policy", meaning="the node shuts down, under this policy")
declare(
    "agent.leaving",
    "kind plan policy?",
    meaning="what the agent does before it leaves (kind: reboot, shutdown, restart)",
)
declare("agent.status_unwritable", "task error", meaning="the agent could not report")
declare("agent.state_unreadable", "error", meaning="the agent could not read what it is asked to do")
declare("agent.fence_noticed", "maintenance", meaning="the agent's node is to be fenced and the agent lets go")
declare("agent.disarmed", "maintenance", meaning="the agent let go because the cluster is being disarmed")
declare("agent.went_idle", "rounds", meaning="the agent had nothing to run for long and let its lock go")
declare("agent.round_skipped", meaning="the cluster's state was not consistent, so the round was left out")
declare("agent.round_failed", "error", meaning="a round ended with an error")
declare(
    "agent.leaving_blocked", "running", meaning="the agent should leave, but has lost its lock with resources running"
)
declare("agent.gave_up", meaning="the agent leaves without its lock after waiting for long")
declare("agent.exited", meaning="the agent process ended")
declare(
    "agent.connected",
    "running version host",
    meaning="the agent holds its lease and has read the log; running: what really runs on its node",
)
declare("agent.deposed", "because", meaning="the agent lost its right to run anything and begins anew")
