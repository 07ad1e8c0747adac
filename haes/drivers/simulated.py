"""The simulated driver: resources that run in a simulated world, some of which fail on purpose.

Resources of kind `fa` carry in their number `abcdef` how they fail: b starts and c motions fail before one works, d
other than 0 cannot be stopped, f limits b and c to node f.
"""

import re
from collections.abc import Sequence

from haes.drivers.port import Emit
from haes.simulation.hardware import Hardware
from haes.state.cluster import ClusterState

_FAILING = re.compile(r"^fa:\d(?P<start>\d)(?P<move>\d)(?P<stop>\d)?(?P<exists>\d)?(?P<node>\d)?")


class SimulatedDriver:
    """Resources on one simulated node."""

    balances = False

    def __init__(self, node: str, hardware: Hardware, state: ClusterState) -> None:
        self.kinds = hardware.kinds
        self._node = node
        self._hardware = hardware
        self._state = state

    def running(self, resource: str) -> bool:
        """See Driver."""
        return self._hardware.machines[self._node].runs.get(resource, False)

    def start(self, resource: str, emit: Emit) -> None:
        """See Driver."""
        if not self._fails("start", resource) and not self._locked(resource, "start", emit):
            self._hardware.machines[self._node].runs[resource] = True

    def tells_ends(self, _resource: str) -> bool:
        """See Driver."""
        return False

    def interrupt(self, resource: str) -> None:
        """See Driver: simulated work takes no time of its own."""

    def stop(self, resource: str, _timeout: int | None, emit: Emit) -> None:
        """See Driver."""
        failing = _FAILING.match(resource)
        if failing is not None and int(failing["stop"] or 0):
            return
        if not self._locked(resource, "shutdown", emit):
            self._hardware.machines[self._node].runs[resource] = False

    def move(self, resource: str, target: str, emit: Emit, *, live: bool) -> bool:
        """See Driver."""
        if self._fails("move", resource):
            return False
        if live and resource.startswith("ct:") and self.running(resource):
            emit("job.live_refused")
            live = False
        verb = "migrate" if live else "relocate"
        emit("job.moving", verb=verb, target=target)
        if self._locked(resource, verb, emit):
            return False
        if not live and self.running(resource):
            emit("job.stopping", relocate=True)
            self.stop(resource, None, emit)
            emit("job.stopped")
        emit("job.moved", verb=verb, target=target)
        self._hardware.machines[self._node].runs.pop(resource, None)
        return True

    def preflight(self, resource: str, target: str) -> Sequence[str]:
        """See Driver."""
        configuration = self._state.configurations.get(resource)
        if configuration is None:
            return []
        needs, offers = configuration.needs, self._hardware.machines[target].offers
        reasons = [
            text
            for key, text in (
                ("local_cdrom", "a local CD-ROM image is attached"),
                ("local_disks", "its disks are local"),
                ("passthrough", "a device is passed through"),
                ("confidential", "its memory is encrypted"),
            )
            if needs.get(key)
        ]
        for key, what in (("storages", "storage"), ("networks", "network")):
            missing = [name for name in needs.get(key, []) if key in offers and name not in offers[key]]
            reasons += [f"{what} '{name}' is missing on {target}" for name in missing]
        return reasons

    def _locked(self, resource: str, task: str, emit: Emit) -> bool:
        lock = self._state.configurations[resource].lock
        if lock:
            emit("job.locked", lock=lock, task=task)
        return bool(lock)

    def _fails(self, task: str, resource: str) -> bool:
        failing = _FAILING.match(resource)
        if failing is None:
            return False
        attempts, only = self._hardware.attempts, failing["node"] or "0"
        if only in {"0", self._node.removeprefix("node")}:
            attempts[task, resource] = attempts.get((task, resource), 0) + 1
            if int(failing[task]) >= attempts[task, resource]:
                return True
        attempts[task, resource] = 0
        return False
