"""A moment of a stream, as conditions see it: the state, the event that led to it, and the imbalance last measured."""

from typing import Any

from events.envelope import Event
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event

PERCENT = 100


class Moment:
    """A moment that goes on with every event.

    Attributes:
        state: the state.
        event: the last event, None before the first.
        imbalance: as last measured, percent; None before that.
    """

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.event: Event | None = None
        self.imbalance: float | None = None

    def follow(self, event: Event) -> None:
        """Goes on with the next event."""
        apply_event(self.state, event)
        self.event = event
        measured = measured_imbalance(event)
        if measured is not None:
            self.imbalance = measured


def measured_imbalance(event: Event) -> float | None:
    """Returns the imbalance that an event puts on record, percent, None for those that do not."""
    if not event.type.startswith("balance."):
        return None
    payload = event.payload
    value: Any = payload.get("before")
    if value is None:
        value = payload.get("imbalance")
    if value is None and isinstance(payload.get("details"), dict):
        value = payload["details"].get("imbalance")
    return value * PERCENT if isinstance(value, int | float) else None
