"""What an agent asks of a driver; knows no driver."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

# Records a fact about the resource that the driver works on: (event type, payload).
Emit = Callable[..., Any]


class Driver(Protocol):
    """A driver on one node. Every method may take its time; none is called twice at once for one resource.

    Attributes:
        kinds: the kinds of resources that it knows: the part of the id before the colon.
        balances: the platform moves resources for balance by itself.
    """

    kinds: frozenset[str]
    balances: bool

    def running(self, resource: str) -> bool:
        """Returns whether the resource runs on this node."""

    def start(self, resource: str, emit: Emit) -> None:
        """Starts the resource; whether it worked is seen by `running`."""

    def stop(self, resource: str, timeout: int | None, emit: Emit) -> None:
        """Stops the resource, giving it so many seconds; whether it worked is seen by `running`."""

    def move(self, resource: str, target: str, emit: Emit, *, live: bool) -> bool:
        """Moves the resource to another node, while it runs if possible; returns whether it is there."""

    def preflight(self, resource: str, target: str) -> Sequence[str]:
        """Returns what speaks against moving the resource to the target, empty if nothing does; changes nothing."""
