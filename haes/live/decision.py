"""A decision on its way to the log: events, and the right under which they were decided. Decides nothing itself.

The right is taken before anything is decided, and the events are appended under it or not at all: a lease that was
lost meanwhile, even one that was taken again, is another right. What each kind of lease lets its holder say is listed
here; everything else is for the leader alone, or for whoever begins a cluster.
"""

from dataclasses import dataclass

from events.errors import Fenced
from events.log.port import Token
from haes.live.announce import MANAGER_LEASE
from haes.live.lease import HeldLease
from haes.live.presence import AGENT_LEASE
from haes.state.batch import Batch
from haes.state.cluster import ClusterState

# Begin of a lease's name -> what its holder may say; a word that ends in a dot stands for all that begin with it.
_MAY_SAY: dict[str, tuple[str, ...]] = {
    MANAGER_LEASE: (
        *("manager.wait_for_quorum", "manager.slave", "manager.lost_manager_lock", "manager.declined"),
        *("manager.shutdown_requested", "manager.exited", "manager.waits", "manager.status_unreadable"),
        "member.",
    ),
    AGENT_LEASE: (
        *(
            "agent.",
            "job.",
            "member.",
            "lock.acquired",
            "node.watchdog_fired",
            "resource.stray_stopped",
            "resource.found",
        ),
        "service.died",
    ),
}


def may_say(lease: str, type_: str) -> bool:
    """Returns whether the holder of a lease may append events of a type."""
    for begin, types in _MAY_SAY.items():
        if lease.startswith(begin):
            return type_ in types or type_.partition(".")[0] + "." in types
    return True


@dataclass(frozen=True, slots=True)
class Right:
    """What lets a process append: a lease, and the token that it had when the decision began."""

    lease: HeldLease
    token: Token | None

    @classmethod
    def of(cls, lease: HeldLease) -> "Right":
        """Takes the right that a lease gives at this moment."""
        return cls(lease, lease.token)

    def check(self) -> Token:
        """Returns the token.

        Raises:
            Fenced: the lease is over, or is not the one any more that it was when the decision began.
        """
        if self.token is None or not self.lease.valid() or self.lease.token != self.token:
            raise Fenced(f"lease '{self.lease.name}' is over; nothing is written any more")
        return self.token


class Decision(Batch):
    """A batch of events and the right that they were decided under.

    Attributes:
        right: the right.
    """

    def __init__(self, state: ClusterState, by: str, at: float, right: Right) -> None:
        super().__init__(state, by, at)
        self.right = right
        self._known = dict(state.versions)

    def expected(self) -> dict[str, int]:
        """Returns, for each subject that it is about, the version that it was decided on."""
        return {event.subject: self._known.get(event.subject, 0) for event in self.events}

    def fit(self) -> None:
        """Makes sure that nothing is said that the right does not cover.

        Raises:
            Fenced: something is.
        """
        for event in self.events:
            if not may_say(self.right.lease.name, event.type):
                raise Fenced(f"lease '{self.right.lease.name}' gives no right to say '{event.type}'")
