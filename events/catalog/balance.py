"""Events about the balancer: what it chose, how it ended, what it remembers."""

from events.schema import declare

declare(
    "balance.motion",
    "number series policy verb leader members source target before after method streak alternatives excluded sample? "
    "first_sample? plan? step?",
    meaning="the balancer moves a bundle; imbalances 0..1; what else it could have chosen, and what was excluded why",
)
declare(
    "balance.plan",
    "number steps before at_rest bound is_most_even excess streak sample? first_sample?",
    meaning="the balancer plans motions, in this order; no fewer than the bound can bring the cluster to rest",
)
declare(
    "balance.plan_ended",
    "number made reason",
    meaning="a plan is over: all made, at rest before its end, or something went another way than planned",
)
declare("balance.moved", "resource target cooldown_until", meaning="a member arrived; it rests until then")
declare(
    "balance.failed",
    "resource target verb attempts policy until? skip? first_series? reason",
    meaning="a member did not arrive; the pair is left out for a time or for a number of series",
)
declare("balance.dropped", "resource reason", meaning="a member's motion came to nothing and nobody is to blame")
declare("balance.motion_refused", "number resource target", meaning="the manager itself refused to queue the motion")
declare("balance.series", "number reason", meaning="a series ended; this one begins")
declare("balance.refused", "reason details", meaning="why the balancer does nothing; only when the reason changes")
declare("balance.advised", "verb leader members source target before after", meaning="what the balancer would do")
declare("balance.advice_requested", "command", meaning="an operator asks what the balancer would do now")
declare("balance.preflight", "resource target reasons until", meaning="the driver says that a motion cannot work")
declare(
    "balance.retried",
    "resource? target? command?",
    meaning="an operator cleared the balancer's memory, or a part of it",
)
declare("balance.paused", "until failures minutes", meaning="too many motions failed in a row; the balancer pauses")
declare("balance.resumed", "reason", meaning="the balancer goes on")
