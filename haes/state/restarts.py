"""What is remembered of a service's deaths: how, where and when, and what follows; as a projection of events.

Decides nothing: whether and when a service is started again stands in the event of its death.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# Seconds for which a death is remembered at least: services that flap slowly are told by the deaths of an hour.
REMEMBERED = 3600.0
# Deaths of one service that are remembered at most; more of them in an hour say nothing new.
KEPT = 256
# What follows from a death: it is started again here; the leader is to take it elsewhere; nothing, as it is not to run.
RESTART, RELOCATE, NOTHING = "restart", "relocate", "none"


@dataclass(frozen=True, slots=True)
class Death:
    """One death of a service: when it went on record, where, after how many seconds, and how, in words."""

    at: float
    node: str
    ran: float
    how: str


@dataclass(frozen=True, slots=True)
class ServiceMemory:
    """What is remembered of one service.

    Attributes:
        run: the run whose death went on record last: each counts once, however often it is reported.
        deaths: the latest ones, oldest first.
        series: deaths in the present series; 0 when it was well for long enough, or an operator let it begin anew.
        began: when the series began.
        counted_from: deaths up to then do not count for the node, because the leader has acted on them.
        failures: deaths that count on its present node.
        plan: what follows from the last death, None when it is up again.
        until: it is not started before, None when nothing is waited for.
        up_since: when it was last said to be up, None when it died since.
    """

    run: str = ""
    deaths: tuple[Death, ...] = ()
    series: int = 0
    began: float | None = None
    counted_from: float | None = None
    failures: int = 0
    plan: str | None = None
    until: float | None = None
    up_since: float | None = None

    def after_death(self, payload: Mapping[str, Any], at: float) -> "ServiceMemory":
        """Returns the memory after `service.died`."""
        death = Death(at, payload["node"], payload["ran"], how_it_ended(payload))
        kept = tuple(item for item in self.deaths if at - item.at < REMEMBERED)
        memory = replace(self, run=payload["run"], deaths=(*kept, death)[-KEPT:])
        series = payload.get("series")
        if not series:
            # It died where nobody wanted it to run; that says nothing about where it is to run.
            return memory
        if series == 1:
            memory = replace(memory, began=at, counted_from=None)
        return replace(
            memory,
            series=series,
            failures=payload["failures"],
            plan=payload["plan"],
            until=payload["until"],
            up_since=None,
        )

    def after_start(self, at: float) -> "ServiceMemory":
        """Returns the memory after the agent said that the service is up."""
        up_since = at if self.up_since is None else self.up_since
        return replace(self, plan=None, until=None, up_since=up_since)

    def after_action(self, at: float) -> "ServiceMemory":
        """Returns the memory after the leader acted on the failures on a node: they begin anew, wherever it is now."""
        return replace(self, plan=RESTART, failures=0, counted_from=at)

    def forgotten(self) -> "ServiceMemory":
        """Returns the memory without the series; that there were deaths stays known."""
        return ServiceMemory(run=self.run, deaths=self.deaths)

    def failures_on(self, node: str, now: float, window: float) -> int:
        """Returns how many deaths of the series count on a node."""
        if not self.series:
            return 0
        begin = max(now - window, self.began or 0.0)
        after = self.counted_from
        return sum(
            death.node == node and death.at >= begin and (after is None or death.at > after) for death in self.deaths
        )

    def in_series(self) -> tuple[Death, ...]:
        """Returns the remembered deaths of the present series."""
        began = self.began
        return () if not self.series or began is None else tuple(item for item in self.deaths if item.at >= began)

    def recent(self, now: float) -> int:
        """Returns how often it died in the last hour."""
        return sum(now - death.at < REMEMBERED for death in self.deaths)


def how_it_ended(payload: Mapping[str, Any]) -> str:
    """Returns in words how a service ended."""
    if payload.get("because"):
        return str(payload["because"])
    if payload.get("signal"):
        return f"killed by {payload['signal']}"
    return f"exited with {payload['exit_code']}"


def describe_series(memory: ServiceMemory) -> str:
    """Returns in words how a service died in its series, how often and where; empty when there is none."""
    deaths = memory.in_series()
    if not deaths:
        return ""
    nodes = ", ".join(dict.fromkeys(death.node for death in deaths))
    times = "once" if memory.series == 1 else f"{memory.series} times in {deaths[-1].at - deaths[0].at:.0f} s"
    return f"{deaths[-1].how}, {times}, on {nodes}"
