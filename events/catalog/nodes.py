"""Events about nodes; one type for each state entered."""

from events.schema import declare

declare("node.added", meaning="the node belongs to the cluster")
declare("node.removed", meaning="the node was gone for long and is forgotten")
for _state in ("online", "maintenance", "unknown", "fence", "gone"):
    declare(f"node.{_state}", "previous", meaning=f"the node is {_state} from now on")
declare("node.absent", "last_online", meaning="when the leader counts the node as last seen, for the fencing delay")
declare("node.fenced", meaning="the node is proven to run nothing any more")
declare("node.stray_fence", meaning="the node is to be fenced though no resource asks for it")
declare("node.killed", meaning="the process was killed with its node's power")
declare(
    "node.watchdog_fired",
    "killed",
    meaning="the node's keeper was not fed in time and killed these services",
)
declare("node.fence_confirmed", "command", meaning="an operator vouches that the node runs nothing any more")
