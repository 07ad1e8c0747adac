"""Applies events to a state: looks up the handler, guards subjects, keeps count. The handlers are in fold_*.

Applying only records. An event that cannot be applied parks its subject: later events about the subject are not
applied either (in order, by their numbers), the others go on, and the reason is visible.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import events.catalog  # noqa: F401 - declares the event types
from events.envelope import Event
from events.errors import EventUnknown
from events.log.port import FOREIGN, UNREADABLE
from events.schema import SCHEMAS
from haes.state.cluster import ClusterState
from haes.state.fold_balance import BALANCE_HANDLERS
from haes.state.fold_cluster import CLUSTER_HANDLERS
from haes.state.fold_nodes import NODE_HANDLERS
from haes.state.fold_resources import RESOURCE_HANDLERS
from haes.state.records import Parked

Handler = Callable[[ClusterState, str, Mapping[str, Any], float], None]

# Event types that change no state (a job that begins, a notification, ...) have no handler: they are the journal's.
HANDLERS: dict[str, Handler] = {**CLUSTER_HANDLERS, **NODE_HANDLERS, **RESOURCE_HANDLERS, **BALANCE_HANDLERS}


# What applying does beside the handlers, because it is about parking itself.
APPLIED_APART = frozenset({FOREIGN, UNREADABLE, "subject.parked", "subject.unparked"})


def apply_event(state: ClusterState, event: Event) -> None:
    """Applies one event to a state, in place.

    Raises:
        EventUnknown: this program does not know the type; the caller decides who must not go on.
    """
    if event.type not in SCHEMAS:
        raise EventUnknown(f"event type '{event.type}' is not known to this program")
    subject = event.subject
    if event.n:
        state.n = event.n
    if event.type == FOREIGN:
        state.parked[subject] = Parked(n=event.n, reason=event.payload["reason"])
        return
    state.at = max(state.at, event.at)
    state.epoch = max(state.epoch, event.epoch)
    state.versions[subject] = state.versions.get(subject, 0) + 1
    if event.late:
        return
    if event.type == UNREADABLE:
        payload = event.payload
        state.parked.setdefault(subject, Parked(n=event.n, reason=payload["reason"], newer=payload["newer"]))
        return
    if event.type == "subject.parked":
        state.parked.setdefault(subject, Parked(n=event.n, reason=event.payload["reason"]))
        return
    if event.type == "subject.unparked":
        state.parked.pop(subject, None)
        return
    handler = HANDLERS.get(event.type)
    if handler is None or subject in state.parked:
        return
    try:
        handler(state, subject, event.payload, event.at)
    except Exception as error:  # noqa: BLE001 - whatever an event holds, it stops its own subject alone
        state.parked[subject] = Parked(n=event.n, reason=f"{event.type}: {error}")


def fold(events: Iterable[Event], state: ClusterState | None = None) -> ClusterState:
    """Applies events in order to a state, a new one if none is given, and returns it."""
    result = ClusterState() if state is None else state
    for event in events:
        apply_event(result, event)
    return result
