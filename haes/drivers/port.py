"""What an agent asks of a driver; knows no driver."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# Records a fact about the resource that the driver works on: (event type, payload).
Emit = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ServiceEnd:
    """A resource that ended without being asked to.

    Attributes:
        resource: the resource.
        run: names this run among all runs of the resource.
        exit_code: with which it exited, None if it did not.
        signal: name of the signal that killed it (`SIGKILL`), None if none did.
        because: why it was ended, where its node did that: its check failed, it did not get ready; otherwise None.
        ran: seconds from its start to its end.
        lines: what it printed last, fit for the record.
    """

    resource: str
    run: str
    exit_code: int | None
    signal: str | None
    because: str | None
    ran: float
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a motion failed.

    Attributes:
        because: in words.
        whole_node: it holds for every resource that would go to that target: no space, no network, another version.
    """

    because: str
    whole_node: bool = False


class Driver(Protocol):
    """A driver on one node. Every method may take its time; for one resource none but `interrupt` is called meanwhile.

    Attributes:
        kinds: the kinds of resources that it knows: the part of the id before the colon.
        balances: the platform moves resources for balance by itself.
    """

    kinds: frozenset[str]
    balances: bool

    def running(self, resource: str) -> bool:
        """Returns whether the resource runs on this node."""

    def start(self, resource: str, emit: Emit) -> None:
        """Starts the resource and waits until it is up; whether it worked is seen by `running`."""

    def tells_ends(self, resource: str) -> bool:
        """Returns whether a start of the resource that fails is told as the end of a service (`ServiceEnd`)."""

    def interrupt(self, resource: str) -> None:
        """Lets a `start` that still waits for the resource to be up return: something else was asked of it."""

    def stop(self, resource: str, timeout: int | None, emit: Emit) -> None:
        """Stops the resource, giving it so many seconds; whether it worked is seen by `running`."""

    def move(self, resource: str, target: str, emit: Emit, *, live: bool) -> bool | Trouble:
        """Moves the resource to another node, while it runs if possible; returns whether it is there, or why not."""

    def preflight(self, resource: str, target: str) -> Sequence[str]:
        """Returns what speaks against moving the resource to the target, empty if nothing does; changes nothing."""
