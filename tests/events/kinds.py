"""Event types that only tests know, and short ways to make events of them."""

from events.envelope import Event
from events.schema import SCHEMAS, declare

# Every test module may be the first to be imported.
if "test.happened" not in SCHEMAS:
    declare("test.happened", "value?", meaning="Something happened in a test.")
if "test.renamed" not in SCHEMAS:
    declare(
        "test.renamed",
        "new",
        meaning="A type with a past: version 1 called its field `old`.",
        version=2,
        upcasters={1: lambda payload: {"new": payload["old"]}},
    )


def happened(subject: str = "vm:101", value: object = None, *, at: float = 20) -> Event:
    """Returns an event as an author decides it."""
    return Event("test.happened", subject, "node1/test", at, {} if value is None else {"value": value}, about="a test")


def many(count: int, *, subjects: int = 10) -> list[Event]:
    """Returns some events, spread over subjects."""
    return [happened(f"vm:{number % subjects}", number, at=number) for number in range(count)]
