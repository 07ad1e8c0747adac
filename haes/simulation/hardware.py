"""The simulated world: power, network, storage of the cluster's state, locks, watchdogs, and what really runs."""

from dataclasses import dataclass, field
from typing import Any

from haes.manager.inputs import Claim
from haes.simulation.scenario import DEFAULT_VERSION, Scenario

# Seconds after which a lock that nobody renewed is free, and after which an unfed watchdog cuts the power.
LOCK_TIMEOUT = 120
WATCHDOG_TIMEOUT = 60


KINDS = frozenset({"vm", "ct", "fa"})


@dataclass(slots=True)
class Machine:
    """One simulated node.

    Attributes:
        power, network: whether they are on.
        can_use_store, store_is_current: whether the cluster's state can be used, and is up to date, on this node.
        going: shutdown or reboot while the node is going down, else None.
        version: of the node software.
        runs: resource -> whether it runs here; resources that were never here are missing.
        watchdogs: handle -> time when it was last fed.
        other: cores and bytes that are in use by others than its resources.
    """

    power: bool
    network: bool
    capacity: dict[str, float]
    version: str
    offers: dict[str, list[str]]
    can_use_store: bool = True
    store_is_current: bool = True
    going: str | None = None
    runs: dict[str, bool] = field(default_factory=dict)
    watchdogs: dict[int, float] = field(default_factory=dict)
    other: tuple[float, int] = (0.0, 0)


class Hardware:
    """All machines, and the locks that they share.

    Attributes:
        machines: node -> machine.
        limits: resource -> maxcpu, maxmem.
        loads: resource -> cpu, mem.
        attempts: (start or move, resource) -> failures so far, for resources that fail on purpose.
        kinds: kinds of resources that can be run.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.machines = {name: _machine(values) for name, values in sorted(scenario.nodes.items())}
        self.limits = {name: dict(values) for name, values in scenario.limits.items()}
        self.loads = {name: dict(values) for name, values in scenario.loads.items()}
        self.attempts: dict[tuple[str, str], int] = {}
        self.kinds = KINDS
        self._locks: dict[str, tuple[str, float]] = {}
        self._watchdog_count = 0

    def quorum(self) -> tuple[dict[str, bool], bool]:
        """Returns node -> online, and whether the cluster is quorate; without quorum nobody is online."""
        online = {node: machine.power and machine.network for node, machine in self.machines.items()}
        quorate = sum(online.values()) > len(online) // 2
        if not quorate:
            online = dict.fromkeys(online, False)
        return online, quorate

    def is_quorate(self, node: str) -> bool:
        """Returns whether a node belongs to the quorate part of the cluster."""
        online, quorate = self.quorum()
        return quorate and online[node]

    def claim(self, lock: str, node: str, now: float) -> Claim:
        """Takes or keeps a lock for a node."""
        if not self.is_quorate(node):
            return Claim.REFUSED
        held = self._locks.get(lock)
        if held is not None and now - held[1] <= LOCK_TIMEOUT:
            if held[0] != node:
                return Claim.REFUSED
            self._locks[lock] = (node, now)
            return Claim.KEPT
        self._locks[lock] = (node, now)
        return Claim.NEW

    def release(self, lock: str, node: str, now: float) -> bool:
        """Gives a lock back; returns whether it is free now."""
        if not self.is_quorate(node):
            return False
        held = self._locks.get(lock)
        if held is None:
            return False
        if now - held[1] > LOCK_TIMEOUT:
            return True
        if held[0] != node:
            return False
        del self._locks[lock]
        return True

    def open_watchdog(self, node: str, now: float) -> int:
        """Opens a watchdog and returns its handle."""
        self._watchdog_count += 1
        self.machines[node].watchdogs[self._watchdog_count] = now
        return self._watchdog_count

    def watchdog_expired(self, node: str, now: float) -> bool:
        """Returns whether a watchdog of a node was not fed in time; such watchdogs are used up."""
        watchdogs = self.machines[node].watchdogs
        expired = [handle for handle, fed in watchdogs.items() if now - fed > WATCHDOG_TIMEOUT]
        for handle in expired:
            del watchdogs[handle]
        return bool(expired)


def _machine(values: dict[str, Any]) -> Machine:
    store = values.get("cfs", {})
    return Machine(
        power=values["power"] == "on",
        network=values["network"] == "on",
        capacity={key: values[key] for key in ("maxcpu", "maxmem") if key in values},
        version=values.get("pve-manager-version", DEFAULT_VERSION),
        offers={key: list(values[key]) for key in ("storages", "networks") if key in values},
        can_use_store=bool(store.get("rw", True)),
        store_is_current=bool(store.get("update", True)),
    )
