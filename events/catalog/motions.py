"""Events about motions that others than the balancer asked for: leaders, rules, operators."""

from events.schema import declare

declare(
    "motion.failed",
    "target attempts policy until? first_series? reason whole_node origin?",
    meaning="a motion did not reach its target, which is left out for a time; whole_node: no resource could get there",
)
declare("motion.moved", "target", meaning="a motion reached a target that had failed before; that is forgotten")
declare(
    "motion.node_paused",
    "until failures reason",
    meaning="too many motions to this node failed for a reason that holds for the whole of it; it is left alone",
)
