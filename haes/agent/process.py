"""An agent process: how it takes, keeps, loses and gives back the right to run resources on its node.

The agent knows its surroundings only through `AgentPort`, so that the live shell and the simulation run this very code.
"""

from haes.agent.execution import Job
from haes.agent.jobs import JobQueue
from haes.agent.leaving import plan_leaving
from haes.agent.port import AgentPort
from haes.agent.view import NodeView, look
from haes.machines import AGENT
from haes.manager.inputs import Claim
from haes.state.batch import Batch
from haes.state.records import AgentRecord

# Rounds without any resource after which an agent lets its lock and watchdog go: 10 minutes at 10 s.
MAX_IDLE_ROUNDS = 60
# Seconds without its lock after which an agent that is to restart gives up waiting: its watchdog should have fired.
GIVE_UP_DELAY = 90


class AgentProcess:
    """The agent of one node.

    Attributes:
        node: the node.
        state: state of the agent's machine.
        mode: active, maintenance, disarm, restart or shutdown.
        view: what it last read of the cluster's state.
        queue: its jobs and what it has to report.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self.state = AGENT.initial
        self.mode = "active"
        self.view = NodeView()
        self.queue = JobQueue(node)
        self._entered_at: float = 0
        self._idle_rounds = 0
        self._has_watchdog = False
        self._leaving = False

    def start(self, batch: Batch) -> None:
        """Begins to wait for its lock."""
        self._enter(batch, "wait_for_agent_lock")

    def request_shutdown(self, batch: Batch, port: AgentPort, *, node_goes: str | None) -> None:
        """Notes that the agent is to leave, and what becomes of its resources until then.

        Args:
            batch: takes the events.
            port: the surroundings.
            node_goes: shutdown or reboot when the whole node goes down, None when only the agent restarts.
        """
        if self._leaving:
            return
        plan = plan_leaving(batch, self.node, self.mode, node_goes)
        self.mode = plan.mode
        if plan.stop_all:
            for order in self.view.orders:
                self.queue.add(Job(order.resource, None, "request_stop"))
        self._leaving = True
        if not self._report(batch, port):
            batch.emit("agent.status_unwritable", self.node, task="update", error="not_quorate")

    def round(self, batch: Batch, port: AgentPort) -> bool:
        """Does one round; returns False when the process is done and exits."""
        self._read(batch, port)
        self._change_state(batch, port)
        work = {
            "wait_for_agent_lock": self._wait,
            "active": self._act,
            "lost_agent_lock": self._hope,
            "maintenance": self._empty_node,
        }
        return work[self.state](batch, port)

    def _enter(self, batch: Batch, state: str) -> None:
        previous = self.state
        self.state = AGENT.decide(previous, state)
        self._entered_at = batch.at
        batch.emit(f"agent.{state}", self.node, about=f"was {previous}", previous=previous)

    def _read(self, batch: Batch, port: AgentPort) -> bool:
        """Reads what is asked of this node; keeps what it knew when it cannot."""
        if not port.readable:
            batch.emit("agent.state_unreadable", self.node, error="store_unavailable")
            return False
        assert batch.state is not None  # noqa: S101 - agents decide on a working copy
        self.view = look(batch.state, self.node)
        if not self._leaving:
            if self.view.maintenance:
                self.mode = "maintenance"
            elif self.view.disarm:
                self.mode = "disarm"
            elif self.mode in {"maintenance", "disarm"}:
                self.mode = "active"
        return True

    def _report(self, batch: Batch, port: AgentPort) -> bool:
        """Tells the cluster the agent's state, mode and the results of jobs; returns whether that was possible."""
        if not port.quorate:
            return False
        if not port.readable:
            batch.emit("agent.status_unwritable", self.node, task="write", error="store_unavailable")
            return False
        assert batch.state is not None  # noqa: S101 - agents decide on a working copy
        if batch.state.agents.get(self.node) != AgentRecord(self.state, self.mode):
            about = f"{self.state}, {self.mode}"
            batch.emit("agent.reported", self.node, about=about, state=self.state, mode=self.mode)
        self.queue.report(batch)
        return True

    def _claim(self, batch: Batch, port: AgentPort) -> bool:
        claim = port.claim_lock()
        if claim is Claim.REFUSED:
            return False
        if claim is Claim.NEW:
            lock = f"ha_agent_{self.node}_lock"
            batch.emit("lock.acquired", self.node, about=lock, lock=lock)
        port.feed_watchdog()
        self._has_watchdog = True
        return True

    def _let_go(self, batch: Batch, port: AgentPort) -> None:
        """Gives lock and watchdog back. Only safe when nothing of HA runs here, or all of it is frozen."""
        port.release_lock()
        self._close_watchdog(port)
        self._enter(batch, "wait_for_agent_lock")

    def _close_watchdog(self, port: AgentPort) -> None:
        if self._has_watchdog:
            port.close_watchdog()
            self._has_watchdog = False

    def _change_state(self, batch: Batch, port: AgentPort) -> None:
        if self.state == "wait_for_agent_lock":
            wanted = self.mode != "disarm" and not self.view.fence and self.view.active and port.quorate
            if wanted and self._claim(batch, port):
                self._enter(batch, "active")
        elif self.state == "lost_agent_lock":
            if not self.view.fence and port.quorate and self._claim(batch, port):
                self._enter(batch, "active")
        elif self.state == "active":
            self._leave_active(batch, port)
        else:
            self._leave_maintenance(batch, port)

    def _leave_active(self, batch: Batch, port: AgentPort) -> None:
        if self.view.fence:
            batch.emit("agent.fence_noticed", self.node, maintenance=False)
            self._enter(batch, "lost_agent_lock")
        elif not self._claim(batch, port):
            self._enter(batch, "lost_agent_lock")
        elif self.mode == "maintenance":
            self._enter(batch, "maintenance")
        elif self.mode == "disarm" and not self.queue.run(batch, port, self.view):
            batch.emit("agent.disarmed", self.node, maintenance=False)
            self._let_go(batch, port)
        elif not self.view.orders and not self.queue.run(batch, port, self.view):
            self._idle_rounds += 1
            if self._idle_rounds > MAX_IDLE_ROUNDS:
                batch.emit("agent.went_idle", self.node, rounds=MAX_IDLE_ROUNDS)
                self._let_go(batch, port)
                self._idle_rounds = 0
        else:
            self._idle_rounds = 0

    def _leave_maintenance(self, batch: Batch, port: AgentPort) -> None:
        if self.view.fence:
            batch.emit("agent.fence_noticed", self.node, maintenance=True)
            self._enter(batch, "lost_agent_lock")
        elif self.mode == "disarm" and not self.view.active and not self.queue.run(batch, port, self.view):
            batch.emit("agent.disarmed", self.node, maintenance=True)
            self._let_go(batch, port)
        elif self.view.active or self.queue.run(batch, port, self.view):
            # Lock and watchdog are kept until every resource has left the node.
            if not self._claim(batch, port):
                self._enter(batch, "lost_agent_lock")
        elif self.mode != "maintenance":
            self._enter(batch, "active" if self._claim(batch, port) else "lost_agent_lock")

    def _wait(self, batch: Batch, port: AgentPort) -> bool:
        if self._leaving:
            return False
        self._report(batch, port)
        return True

    def _act(self, batch: Batch, port: AgentPort) -> bool:
        done = False
        if self._read(batch, port):
            if self._leaving:
                done = self._finish(batch, port)
            elif not port.consistent:
                batch.emit("agent.round_skipped", self.node)
            else:
                self.queue.add_orders(batch, self.view)
                self.queue.run(batch, port, self.view)
        self._report(batch, port)
        return not done

    def _finish(self, batch: Batch, port: AgentPort) -> bool:
        """Brings the agent's work to an end before it leaves; returns whether it may leave now."""
        if self.queue.run(batch, port, self.view):
            return False
        if self.mode == "restart":
            if self.view.active:
                return False
            self._close_watchdog(port)
            port.release_lock()
        elif not self.queue.failed_stops:
            self._close_watchdog(port)
            port.release_lock()
        return True

    def _hope(self, batch: Batch, port: AgentPort) -> bool:
        """Without its lock the agent can only hope to get it back before its watchdog fires."""
        if not self._leaving:
            return True
        if not self.view.active:
            self._close_watchdog(port)
            return False
        batch.emit("agent.leaving_blocked", self.node, running=self.view.active)
        if self.mode == "restart" and batch.at - self._entered_at > GIVE_UP_DELAY:
            batch.emit("agent.gave_up", self.node)
            return False
        return True

    def _empty_node(self, batch: Batch, port: AgentPort) -> bool:
        if not self._read(batch, port):
            return True
        leaves = False
        if not self.view.active and not self.queue.run(batch, port, self.view):
            self._close_watchdog(port)
            leaves = self._leaving
            port.release_lock()
        if not leaves:
            self.queue.add_orders(batch, self.view)
            self.queue.run(batch, port, self.view)
        self._report(batch, port)
        return not leaves
