"""A manager process: how it comes to lead, stands by, loses its lock, rests and leaves. What a leader does is in round.

The process knows its surroundings only through `ManagerPort`, so that the live shell and the simulation run this very
code.
"""

from collections.abc import Callable
from typing import Protocol

from haes.machines import MANAGER
from haes.manager.inputs import Claim, RoundInputs
from haes.manager.round import Leader
from haes.state.batch import Batch
from haes.state.cluster import ClusterState

# Rounds without any configured resource after which the leader resigns: 15 minutes at 10 s. That is 30 rounds more
# than agents wait, so that no agent is stuck because there is no leader.
MAX_IDLE_ROUNDS = 90
LOCK = "ha_manager_lock"


class ManagerPort(Protocol):
    """The surroundings of a manager process, valid for one round.

    Attributes:
        quorate: its node belongs to the quorate part of the cluster.
        consistent: the cluster's state was updated and may be relied on.
        readable: the cluster's state can be read and written.
    """

    quorate: bool
    consistent: bool
    readable: bool

    def claim_lock(self) -> Claim:
        """Takes or keeps the lock of the leader."""

    def release_lock(self) -> bool:
        """Gives the leader's lock back; returns whether that worked."""

    def feed_watchdog(self) -> None:
        """Opens the watchdog, or feeds it when it is open."""

    def close_watchdog(self) -> None:
        """Closes the watchdog, if it is open."""


class ManagerProcess:
    """The manager of one node.

    Attributes:
        node: the node.
        state: state of the manager's machine.
        leader: set while it leads.
        disarmed: it leads without a watchdog because HA is out of action.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self.state = MANAGER.initial
        self.leader: Leader | None = None
        self.disarmed = False
        self._idle_rounds = 0
        self._has_watchdog = False
        self._leaving = False

    def start(self, batch: Batch) -> None:
        """Begins to wait for quorum."""
        self._enter(batch, "wait_for_quorum")

    def request_shutdown(self, batch: Batch) -> None:
        """Notes that the process is to leave; it does so in its next round."""
        if not self._leaving:
            batch.emit("manager.shutdown_requested", self.node)
        self._leaving = True

    def round(self, batch: Batch, port: ManagerPort, inputs: Callable[[], RoundInputs]) -> bool:
        """Does one round; returns False when the process is done and exits."""
        self._change_state(batch, port)
        if self.state == "wait_for_quorum":
            return not self._leaving
        if self.state == "master":
            return self._lead(batch, port, inputs)
        if self.state == "lost_manager_lock":
            self._close_watchdog(port)
            if self._leaving:
                return False
            self._enter(batch, "wait_for_quorum")
            return True
        return not self._leaving

    def _enter(self, batch: Batch, state: str) -> None:
        previous = self.state
        self.state = MANAGER.decide(previous, state)
        batch.emit(f"manager.{state}", self.node, about=f"was {previous}", previous=previous)
        if state == "master":
            self.leader = Leader()
            self.leader.take_over(batch, self.node)
        else:
            self.leader = None

    def _change_state(self, batch: Batch, port: ManagerPort) -> None:
        if self.state == "wait_for_quorum":
            if self._can_get_active(batch, port):
                self._enter(batch, "master" if self._claim(batch, port) else "slave")
        elif self.state == "slave":
            if not self._can_get_active(batch, port):
                self._enter(batch, "wait_for_quorum")
            elif self._claim(batch, port):
                self._enter(batch, "master")
        elif self.state == "lost_manager_lock":
            if self._can_get_active(batch, port, without_resources=True) and self._claim(batch, port):
                self._enter(batch, "master")
        elif not self._claim(batch, port):
            self._enter(batch, "lost_manager_lock")
        elif self._may_rest(batch, port):
            self._idle_rounds += 1
            if self._idle_rounds > MAX_IDLE_ROUNDS:
                self._idle_rounds = 0
                batch.emit("manager.went_idle", self.node, rounds=MAX_IDLE_ROUNDS)
                port.release_lock()
                self._close_watchdog(port)
                self._enter(batch, "wait_for_quorum")
        else:
            self._idle_rounds = 0

    def _claim(self, batch: Batch, port: ManagerPort) -> bool:
        claim = port.claim_lock()
        if claim is Claim.REFUSED:
            return False
        if claim is Claim.NEW:
            batch.emit("lock.acquired", self.node, about=LOCK, lock=LOCK)
        if self._has_watchdog:
            port.feed_watchdog()
        elif not self.disarmed:
            disarm = _state(batch).disarm
            if port.readable and disarm is not None and disarm.state == "disarmed":
                batch.emit("manager.took_over_disarmed", self.node)
                self.disarmed = True
            else:
                port.feed_watchdog()
                self._has_watchdog = True
        return True

    def _close_watchdog(self, port: ManagerPort) -> None:
        if self._has_watchdog:
            port.close_watchdog()
            self._has_watchdog = False

    def _healthy(self, batch: Batch, port: ManagerPort) -> bool:
        if not port.readable:
            batch.emit("manager.status_unreadable", self.node, error="store_unavailable")
            return False
        if not port.quorate or not port.consistent:
            return False
        # Even without any configuration there may be resources on this node that are to be fenced.
        return not any(
            record.state == "fence" and record.node == self.node for record in _state(batch).resources.values()
        )

    def _can_get_active(self, batch: Batch, port: ManagerPort, *, without_resources: bool = False) -> bool:
        if not self._healthy(batch, port):
            return False
        state = _state(batch)
        if without_resources or state.configurations:
            return True
        if state.leader is not None and state.nodes.get(state.leader) == "online" and state.leader != self.node:
            return False
        leftovers = any(
            node_state == "maintenance" and node not in state.maintenance for node, node_state in state.nodes.items()
        )
        return leftovers or bool(state.commands) or bool(state.resources) or state.disarm is not None

    def _may_rest(self, batch: Batch, port: ManagerPort) -> bool:
        if not self._healthy(batch, port):
            return False
        state = _state(batch)
        return state.disarm is None and not state.configurations and not state.resources

    def _lead(self, batch: Batch, port: ManagerPort, inputs: Callable[[], RoundInputs]) -> bool:
        assert self.leader is not None  # noqa: S101 - a master has a leader
        if self._leaving:
            self._close_watchdog(port)
            batch.emit("manager.lock_released", self.node)
            if not port.release_lock():
                batch.emit("manager.lock_release_failed", self.node)
            return False
        if not port.consistent:
            batch.emit("manager.round_skipped", self.node)
            return True
        if not port.readable:
            batch.emit("manager.round_failed", self.node, error="store_unavailable")
            return True
        self.leader.manage(batch, inputs())
        if self.leader.disarmed and not self.disarmed:
            batch.emit("manager.watchdog_released", self.node)
            self._close_watchdog(port)
            self.disarmed = True
        elif self.disarmed and not self.leader.disarmed:
            batch.emit("manager.rearmed", self.node)
            self.disarmed = False
        return True


def _state(batch: Batch) -> ClusterState:
    assert batch.state is not None  # noqa: S101 - managers decide on a working copy
    return batch.state
