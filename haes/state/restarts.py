"""What is remembered of a service's deaths: how, where and when; as a projection of events. Decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# Seconds for which a death is remembered at least: services that flap slowly are told by the deaths of an hour.
REMEMBERED = 3600.0
# Deaths of one service that are remembered at most; more of them in an hour say nothing new.
KEPT = 256


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
    """

    run: str = ""
    deaths: tuple[Death, ...] = ()

    def after_death(self, payload: Mapping[str, Any], at: float) -> "ServiceMemory":
        """Returns the memory after `service.died`."""
        death = Death(at, payload["node"], payload["ran"], how_it_ended(payload))
        kept = tuple(item for item in self.deaths if at - item.at < REMEMBERED)
        return replace(self, run=payload["run"], deaths=(*kept, death)[-KEPT:])


def how_it_ended(payload: Mapping[str, Any]) -> str:
    """Returns in words how a service ended."""
    if payload.get("because"):
        return str(payload["because"])
    if payload.get("signal"):
        return f"killed by {payload['signal']}"
    return f"exited with {payload['exit_code']}"
