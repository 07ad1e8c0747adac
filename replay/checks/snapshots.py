"""Every snapshot is the fold up to where it says that it stands."""

from collections.abc import Mapping

from events.envelope import Event
from haes.state.cluster import ClusterState
from replay.checks.check import Check


class Snapshots(Check):
    """Compares snapshots while the fold comes by."""

    name = "snapshots"

    def __init__(self, snapshots: Mapping[int, ClusterState | None]) -> None:
        """Prepares it.

        Args:
            snapshots: number of the last event in it -> what it holds, None when this program cannot read it.
        """
        super().__init__()
        self._snapshots = snapshots
        self._compared = 0

    def after(self, event: Event, state: ClusterState) -> None:
        """See Check."""
        snapshot = self._snapshots.get(event.n)
        if snapshot is None:
            return
        self._compared += 1
        said, folded = snapshot.to_data(), state.to_data()
        if said != folded:
            parts = ", ".join(part for part in folded if said.get(part) != folded[part])
            self.wrong(event, f"the snapshot differs from the fold in {parts}")

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - see Check
        """See Check."""
        others = sum(snapshot is None for snapshot in self._snapshots.values())
        more = f"; {others} are of another version of this program and were left out" if others else ""
        return f"{self._compared} snapshots compared with the fold{more}"
