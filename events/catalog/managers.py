"""Events about manager processes; one type for each state entered."""

from events.schema import declare

for _state in ("wait_for_quorum", "master", "slave", "lost_manager_lock"):
    declare(f"manager.{_state}", "previous", meaning=f"the manager is {_state} from now on")
declare(
    "leader.elected",
    "node program? policy_version?",
    meaning="this node's manager leads from now on, deciding by this version; what only leaders know starts again",
)
declare("manager.shutdown_requested", meaning="the manager was asked to leave")
declare("manager.lock_released", meaning="the leader resigned")
declare("manager.lock_release_failed", meaning="the leader could not give its lock back")
declare("manager.went_idle", "rounds", meaning="the leader had nothing to look after and resigned")
declare("manager.round_skipped", meaning="the cluster's state was not consistent, so the round was left out")
declare("manager.round_failed", "error", meaning="a round ended with an error")
declare("manager.status_unreadable", "error", meaning="the cluster's state could not be read")
declare("manager.configuration_unreadable", "error", meaning="the resources' configuration could not be read")
declare("manager.took_over_disarmed", meaning="the new leader leads a disarmed cluster and needs no watchdog")
declare("manager.watchdog_released", meaning="the cluster is disarmed and the leader gave up its watchdog")
declare("manager.rearmed", meaning="the leader takes the cluster back into action")
declare("manager.offline", meaning="the leader does not see its own node as usable")
declare("manager.exited", meaning="the manager process ended")
declare(
    "manager.declined",
    "subjects",
    meaning="the manager does not lead, because events about these subjects are newer than it is",
)
declare("member.announced", "program types", meaning="which events the program of a manager or agent understands")
declare(
    "manager.waits",
    "types members",
    meaning="the leader does nothing for now, because members that are there do not understand what it would write",
)
