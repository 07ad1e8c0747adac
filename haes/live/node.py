"""What an agent's shell asks of its node: the services there, the keeper that outlives the agent, and measurements.

Knows no kind of node. Every method may block for a while and is called in a thread; none is called after `close`. Every
method raises a `KeeperError` when the node cannot be worked with, and those that change something a `RightRefused` when
a newer right than that in use was there.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from events.log.port import Right, Token
from haes.drivers.port import Driver, ServiceEnd
from haes.telemetry import Sample


class LiveNode(Protocol):
    """One node."""

    @property
    def driver(self) -> Driver:
        """How services are started, stopped and moved."""

    def use(self, token: Token) -> None:
        """Acts under this token from now on; the node refuses older ones."""

    def newest(self) -> Right:
        """Returns the newest right that the node has seen."""

    def feed(self, deadline: float) -> None:
        """Lets the services run until a moment by `CLOCK_BOOTTIME`; after it the keeper kills them by itself."""

    def disarm(self) -> None:
        """Lets the services run without a deadline: nothing is expected of them, or a successor takes them over."""

    def fired(self) -> tuple[str, ...] | None:
        """Returns what the keeper killed because it was not fed since this was last asked; None if it did not fire."""

    def kill(self, resources: Collection[str]) -> None:
        """Kills services at once, with all their processes."""

    def services(self) -> dict[str, bool]:
        """Returns service -> whether it is well, for all that have processes on the node."""

    def ends(self) -> Sequence[ServiceEnd]:
        """Returns the services that ended without being asked to, again and again until `forget_ends`."""

    def forget_ends(self, runs: Collection[str]) -> None:
        """The ends of these runs are on record: they need not be told again."""

    def said(self, resource: str, lines: int, after: str) -> tuple[list[str], str]:
        """Returns what a service printed last here, or after a position that this returned before; and the position."""

    def check(self) -> None:
        """Asks services whose check is due whether they are well, and ends those that say no too often in a row."""

    def measure(self) -> Sample:
        """Returns what the node and its services use right now."""

    def close(self) -> None:
        """Lets the node go; its services and its keeper stay."""
