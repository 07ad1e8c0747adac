"""What an agent knows of its surroundings; the live shell and the simulation provide it."""

from typing import Protocol

from haes.agent.execution import Job
from haes.manager.inputs import Claim
from haes.state.batch import Batch


class AgentPort(Protocol):
    """The surroundings of an agent, valid for one round.

    Attributes:
        quorate: its node belongs to the quorate part of the cluster.
        consistent: the cluster's state was updated and may be relied on.
        readable: the cluster's state can be read and written.
    """

    quorate: bool
    consistent: bool
    readable: bool

    def claim_lock(self) -> Claim:
        """Takes or keeps the lock of this node's agent."""

    def release_lock(self) -> None:
        """Gives the lock back."""

    def feed_watchdog(self) -> None:
        """Opens the watchdog, or feeds it when it is open."""

    def close_watchdog(self) -> None:
        """Closes the watchdog, if it is open."""

    def run(self, job: Job, batch: Batch) -> int | None:
        """Does a job and returns its exit code, or None while it is still at it."""
