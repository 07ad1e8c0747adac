"""Every motion of the balancer ends, for every member; one that is still under way at the end is open, not wrong."""

from events.envelope import Event
from haes.machines.resource import MOVING
from haes.state.cluster import ClusterState
from replay.checks.check import Check

_ENDS = frozenset({"balance.moved", "balance.failed", "balance.dropped"})


class Motions(Check):
    """Keeps the members whose end is not on record; at most one motion is open at a time."""

    name = "motions"

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[int, set[str]] = {}
        self._count = 0

    def begin(self, state: ClusterState) -> None:
        """See Check."""
        motion = state.balance.motion
        if motion is not None:
            self._count = 1
            self._open[motion.number] = set(motion.open_members())

    def after(self, event: Event, state: ClusterState) -> None:  # noqa: ARG002 - see Check
        """See Check."""
        payload = event.payload
        if event.type == "balance.motion":
            for number, members in self._open.items():
                left = ", ".join(sorted(members))
                self.wrong(event, f"motion {payload['number']} begins while motion {number} has no end for {left}")
            self._count += 1
            self._open = {payload["number"]: set(payload["members"])}
        elif event.type == "balance.motion_refused":
            self._open.pop(payload["number"], None)
        elif event.type in _ENDS:
            self._ends(event, payload["resource"])

    def _ends(self, event: Event, resource: str) -> None:
        for number, members in list(self._open.items()):
            if resource in members:
                members.remove(resource)
                if not members:
                    del self._open[number]
                return
        self.wrong(event, f"the end of a motion of {resource}, which has none under way")

    def end(self, state: ClusterState) -> str:
        """See Check."""
        said = f"{self._count - len(self._open)} of {self._count} motions of the balancer ended for every member"
        pending = [f"motion {number} ({', '.join(sorted(members))})" for number, members in self._open.items()]
        others = [
            resource
            for resource, record in sorted(state.resources.items())
            if (record.state in MOVING or (record.request is not None and record.request[0] in MOVING))
            and not any(resource in members for members in self._open.values())
        ]
        if others:
            pending.append(f"by others {', '.join(others)}")
        return said + (f"; still under way at the end: {', '.join(pending)}" if pending else "")
