"""How a line of the table is written: a level and a template filled from the event."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from events.envelope import Event

Lines = Sequence[tuple[str, str]]

# What the cluster's store says of itself when it cannot be used.
ERRORS = {"store_unavailable": "cfs connection refused - not mounted?", "not_quorate": "not quorate?"}


class _Values(dict[str, Any]):
    """Fills a template; what the payload leaves out or leaves empty becomes an empty text."""

    def __missing__(self, key: str) -> str:
        return ""


def values(event: Event, **more: Any) -> _Values:
    """Returns what a template may use: the payload's fields and `subject`."""
    filled = _Values({name: "" if value is None else value for name, value in event.payload.items()})
    filled["subject"] = event.subject
    if "error" in filled:
        filled["error"] = ERRORS.get(filled["error"], filled["error"])
    filled.update(more)
    return filled


def say(level: str, template: str) -> Callable[[Event], Lines]:
    """Returns the entry of an event type with one line and one template."""

    def entry(event: Event) -> Lines:
        return [(level, template.format_map(values(event)))]

    return entry


def choose(field: str, templates: Mapping[Any, tuple[str, str]]) -> Callable[[Event], Lines]:
    """Returns the entry of an event type whose line depends on a field; other values of the field have no line."""

    def entry(event: Event) -> Lines:
        chosen = templates.get(event.payload.get(field))
        return [] if chosen is None else [(chosen[0], chosen[1].format_map(values(event)))]

    return entry
