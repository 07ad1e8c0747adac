"""The simulated hardware: locks that run out, watchdogs that fire, quorum that is lost."""

import pytest

from haes.manager.inputs import Claim
from haes.simulation.hardware import LOCK_TIMEOUT, WATCHDOG_TIMEOUT, Hardware
from tests.builders import cluster


@pytest.fixture
def hardware() -> Hardware:
    """Provides three machines that are on."""
    hardware = Hardware(cluster({"vm:101": {"node": 1}}))
    for machine in hardware.machines.values():
        machine.power = machine.network = True
    return hardware


def test_a_lock_has_one_holder_until_it_runs_out(hardware: Hardware) -> None:
    """Nobody else gets a lock before its time is over, and then it is new to whoever takes it."""
    assert hardware.claim("lock", "node1", 0) is Claim.NEW
    assert hardware.claim("lock", "node2", LOCK_TIMEOUT) is Claim.REFUSED
    assert hardware.claim("lock", "node1", LOCK_TIMEOUT) is Claim.KEPT
    assert hardware.claim("lock", "node2", 2 * LOCK_TIMEOUT) is Claim.REFUSED
    assert hardware.claim("lock", "node2", 2 * LOCK_TIMEOUT + 1) is Claim.NEW
    assert hardware.claim("lock", "node1", 2 * LOCK_TIMEOUT + 2) is Claim.REFUSED


def test_only_the_holder_gives_a_lock_back(hardware: Hardware) -> None:
    """A released lock is free at once; others cannot release it."""
    hardware.claim("lock", "node1", 0)
    assert not hardware.release("lock", "node2", 1)
    assert hardware.claim("lock", "node2", 1) is Claim.REFUSED
    assert hardware.release("lock", "node1", 2)
    assert hardware.claim("lock", "node2", 2) is Claim.NEW


def test_without_quorum_nobody_gets_or_keeps_a_lock(hardware: Hardware) -> None:
    """A node outside the majority has no say."""
    hardware.claim("lock", "node1", 0)
    hardware.machines["node1"].network = False
    assert hardware.claim("lock", "node1", 1) is Claim.REFUSED
    assert not hardware.release("lock", "node1", 1)
    assert hardware.quorum() == ({"node1": False, "node2": True, "node3": True}, True)
    hardware.machines["node2"].power = False
    assert hardware.quorum() == (dict.fromkeys(("node1", "node2", "node3"), False), False)
    assert hardware.claim("other", "node3", 1) is Claim.REFUSED


def test_half_of_the_nodes_are_no_majority() -> None:
    """Two of four are not quorate."""
    hardware = Hardware(cluster({"vm:101": {"node": 1}}, nodes=4))
    for node in ("node1", "node2"):
        hardware.machines[node].power = hardware.machines[node].network = True
    assert not hardware.is_quorate("node1")


def test_a_watchdog_fires_once_when_it_is_not_fed(hardware: Hardware) -> None:
    """It waits its time to the second, and fires for its own machine only."""
    handle = hardware.open_watchdog("node1", 0)
    assert not hardware.watchdog_expired("node1", WATCHDOG_TIMEOUT)
    hardware.machines["node1"].watchdogs[handle] = 10
    assert not hardware.watchdog_expired("node1", WATCHDOG_TIMEOUT + 10)
    assert not hardware.watchdog_expired("node2", 1000)
    assert hardware.watchdog_expired("node1", WATCHDOG_TIMEOUT + 11)
    assert not hardware.watchdog_expired("node1", WATCHDOG_TIMEOUT + 12)
