"""Which events a program understands, and whether everybody who is there understands what a leader is about to write.

In a rolling upgrade programs of two versions share the log. A leader writes nothing that a present member has not
announced; what it wants to write waits until the last old one is gone.
"""

from collections.abc import Iterable, Mapping

from events.envelope import Event
from events.log.port import LeaseInfo
from events.schema import SCHEMAS
from haes.live.presence import AGENT_LEASE, is_over
from haes.live.version import PROGRAM_VERSION
from haes.state.batch import Batch
from haes.state.cluster import ClusterState

MANAGER_LEASE = "manager/"


def known_types() -> dict[str, int]:
    """Returns type -> version of everything that this program can read."""
    return {name: schema.version for name, schema in sorted(SCHEMAS.items()) if not name.startswith("test.")}


def announce(batch: Batch, member: str) -> None:
    """Records what this program understands, unless that is on record already.

    Args:
        batch: takes the event; on a working copy of the state.
        member: name of the lease by which the process is known.
    """
    types = known_types()
    if batch.state is None or batch.state.announced.get(member) != types:
        batch.emit("member.announced", member, about=PROGRAM_VERSION, program=PROGRAM_VERSION, types=types)


def not_understood(
    events: Iterable[Event], state: ClusterState, leases: Mapping[str, LeaseInfo]
) -> dict[str, list[str]]:
    """Returns event type -> the present members that have not announced it in this version; empty if there are none.

    A member that never announced anything is about to: it reads the log before it does anything.
    """
    present = [
        name
        for name, lease in sorted(leases.items())
        if name.startswith((AGENT_LEASE, MANAGER_LEASE)) and not is_over(lease) and name in state.announced
    ]
    found: dict[str, list[str]] = {}
    for type_, version in {event.type: event.version for event in events}.items():
        behind = [name for name in present if state.announced[name].get(type_, 0) < version]
        if behind:
            found[type_] = behind
    return found
