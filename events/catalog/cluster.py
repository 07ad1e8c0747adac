"""Events about the cluster as a whole: its configuration, membership and mode."""

from events.schema import declare

declare("cluster.created", "name", meaning="the first event of a cluster")
declare(
    "cluster.imported",
    "nodes resources maintenance disarm leader",
    meaning="state taken over from elsewhere: node states, resource records, requests",
)
declare("cluster.membership", "online left", meaning="which nodes the leader sees; when those that left were last seen")
declare("settings.changed", "settings", meaning="the settings, whole: section -> key -> value")
declare("rules.changed", "text", meaning="the affinity rules, whole, as section configuration")
declare(
    "rules.applied",
    "digest nodes dropped",
    meaning="the leader took rules into use; dropped: [rule, option, code, details]",
)
declare("groups.changed", "text", meaning="the old-style groups, whole; an empty text means they are gone")
declare("groups.migration_waiting", "rounds_left", meaning="rounds until groups are turned into rules for good")
declare(
    "groups.migration",
    "step node? state? mode? version? reason? rounds?",
    meaning="one step of turning groups into rules for good",
)
declare("lock.acquired", "lock", meaning="the author got a cluster-wide lock")
declare("scheduler.selected", "mode previous?", meaning="the leader uses this scheduler from now on")
declare("scheduler.fallback", "mode problem", meaning="a scheduler could not start; this round uses basic")
declare("usage.problem", "task mode problem resource?", meaning="loads could not be used for a resource or a choice")
declare("notification.sent", "kind message node", meaning="people were told")
declare(
    "disarm.requested", "mode command", meaning="an operator takes HA out of action, freezing or ignoring resources"
)
declare("disarm.completed", meaning="every agent has let go; HA is out of action")
declare("arm.requested", "command", meaning="an operator puts HA back into action")
declare("maintenance.requested", "command", meaning="an operator takes a node out of service")
declare("maintenance.cleared", "command state", meaning="an operator puts a node back into service; state: the node's")
