"""An agent in a process of its own: does what the core decides for its node, as long as its lease lets it.

The core decides in `haes/agent`; here are the lease, the node's keeper, jobs in threads, and the log's faults.
"""

import asyncio
import copy
import logging
import math
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from events.envelope import Event
from events.errors import HaesError, LogUnavailable
from events.log.port import NO_RIGHT, EventLog, Right
from haes.agent.deaths import record_end
from haes.agent.execution import Job
from haes.agent.process import AgentProcess
from haes.clock import boottime
from haes.configuration.cluster import Intervals
from haes.drivers.port import ServiceEnd
from haes.drivers.process.client import KeeperError, KeeperRefused
from haes.live import presence
from haes.live.announce import announce
from haes.live.decision import Decision
from haes.live.found import Unheard, comes_here, found_here
from haes.live.lease import HeldLease
from haes.live.node import LiveNode
from haes.live.outage import Outage, pause_unless
from haes.live.said import answer_for_ever
from haes.live.seen import SeenFile
from haes.live.telemetry import publish
from haes.live.version import PROGRAM_VERSION
from haes.live.work import Work
from haes.live.worker import LEASE_INTERVAL, Worker
from haes.manager.inputs import Claim
from haes.state.batch import Batch
from haes.state.cluster import ClusterState

_log = logging.getLogger(__name__)

# Seconds for an agent to leave, beyond which its successor finds the services running and unfrozen: no harm is done.
LEAVE_LIMIT = 1.5
# Seconds between two looks while an agent leaves.
LEAVE_INTERVAL = 0.1
# Seconds between two rounds at least, however soon a service may be started again.
SHORTEST_WAIT = 0.05
# Why a service is stopped that a node was left with.
_LEFT = "it does not belong here any more"
# Seconds between two looks which checks of services are due: the shortest interval that makes sense.
CHECK_LOOK = 1.0
# States in which an agent holds the right to run services.
HOLDING = frozenset({"active", "maintenance"})


class _Port:
    """See AgentPort; valid for one round."""

    def __init__(self, worker: "AgentWorker", state: ClusterState, services: Mapping[str, bool]) -> None:
        self.quorate = self.consistent = self.readable = True
        self._worker = worker
        self._state = state
        self.services = services
        self.holds = worker.holds

    def claim_lock(self) -> Claim:
        if not self._worker.may_hold():
            self.holds = False
            return Claim.REFUSED
        claim = Claim.KEPT if self.holds else Claim.NEW
        self.holds = True
        return claim

    def release_lock(self) -> None:
        self.holds = False

    def feed_watchdog(self) -> None:
        """The keeper is fed with every renewal of the lease, from when the claim is on the record."""

    def close_watchdog(self) -> None:
        self.holds = False

    def run(self, job: Job, batch: Batch) -> int | None:
        return self._worker.work.step(job, batch, self._state, self.services)


class AgentWorker(Worker):
    """The agent of one node.

    Attributes:
        holds: it has the right to run services: its lock is on the record, and its keeper is fed.
        work: its jobs.
    """

    def __init__(
        self,
        log: EventLog,
        node: str,
        live: LiveNode,
        intervals: Intervals,
        owner: str,
        host: str,
        seen: SeenFile | None = None,
    ) -> None:
        lease = HeldLease(log, presence.agent_lease(node), owner, intervals.agent_lease)
        super().__init__(log, node, presence.AGENT_PART, lease, seen)
        self._live = live
        self._host = host
        self._intervals = intervals
        self._process = AgentProcess(node)
        self.holds = False
        self.work = Work(node, live.driver, self._wake.set)
        self._round_due = 0.0
        self._reset: str | None = None
        # The log lost its tail, and this agent has not said yet what runs here all the same.
        self._tail_lost = False
        self._unheard_of = Unheard()
        self._last_round = boottime()
        self._stalled = False
        self._node_outage = Outage(f"node {node}")
        lease.newest = self._newest_right
        # What the keeper killed and nobody has recorded yet.
        self._killed: frozenset[str] | None = None
        # Runs whose ends are in the present batch; the node tells them until they are on record.
        self._ended: frozenset[str] = frozenset()

    def use(self, intervals: Intervals) -> None:
        """See Worker."""
        self._intervals = intervals
        self.lease.ttl = intervals.agent_lease

    def may_hold(self) -> bool:
        """Returns whether the lease lets the agent run services right now."""
        return self.lease.valid() and self._reset is None and not self._unheard_of.holds_off()

    def _see(self, event: Event) -> None:
        self._unheard_of.see(event)
        super()._see(event)

    async def _newest_right(self) -> Right:
        """Asks the node for the newest right that it has seen; the log may have forgotten it."""
        try:
            return await asyncio.to_thread(self._live.newest)
        except KeeperError as error:
            self._node_outage.begin(error)
            return NO_RIGHT

    async def _begin(self) -> None:
        """Begins as often as it takes: a node that is away or knows a newer right is waited out like the log."""
        while not self._stop.is_set():
            try:
                await self._connect()
            except KeeperRefused as error:
                await self._give_way(error)
                await self._take_lease()
                await self.replica.catch_up()
            except KeeperError as error:
                self._node_outage.begin(error)
            else:
                self._node_outage.end()
                return
            await pause_unless(self._stop, LEASE_INTERVAL)

    async def _connect(self) -> None:
        """Says what really runs here, and stops what does not belong here."""
        if self.lease.token is None:
            raise LogUnavailable(f"lease '{self.lease.name}' is not held")
        await asyncio.to_thread(self._live.use, self.lease.token)
        await self._learn_of_kills()
        services = await asyncio.to_thread(self._live.services)
        # What runs is compared with the very state that the report is appended on.
        batch = await self._batch()
        found = found_here(self.replica.state, self.node, services) if self._is_behind() else []
        strays = {name: why for name, why in self._strays(services).items() if name not in found}
        if self._is_behind():
            for name in comes_here(self.replica.state, self.node, services):
                strays.pop(name, None)
        if strays:
            await asyncio.to_thread(self._live.kill, strays)
        process = AgentProcess(self.node)
        told = self._tell_kills(batch)
        self._tell_strays(batch, strays)
        for name in found:
            batch.emit("resource.found", name, about=self.node, node=self.node)
        announce(batch, self.lease.name)
        process.start(batch)
        running = sorted(services.keys() - strays.keys())
        batch.emit(
            "agent.connected",
            self.node,
            about=f"{len(running)} services run",
            running=running,
            version=PROGRAM_VERSION,
            host=self._host,
        )
        await self.replica.append(batch)
        if told:
            self._killed = None
        self._process, self.holds, self._reset, self._tail_lost = process, False, None, False
        # What runs here belongs here; the keeper may be fed while the agent is on its way to its lock.
        await asyncio.to_thread(self._live.feed, self.lease.deadline)

    def _strays(self, services: Mapping[str, bool]) -> dict[str, str]:
        """Returns the services that must not run here, and why."""
        state = self.replica.state
        strays = {}
        for resource in services:
            configuration, record = state.configurations.get(resource), state.resources.get(resource)
            if configuration is None:
                strays[resource] = "it is not configured"
            elif configuration.state == "ignored":
                continue
            elif configuration.node != self.node and (record is None or record.node != self.node):
                strays[resource] = f"it belongs to {configuration.node}"
            elif record is not None and record.node == self.node and record.state in {"fence", "recovery"}:
                strays[resource] = "the node is to be fenced"
        return strays

    def _tell_strays(self, batch: Batch, strays: Mapping[str, str]) -> None:
        for resource, because in strays.items():
            batch.emit("resource.stray_stopped", resource, about=because, node=self.node, because=because)

    def _tasks(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        answers = answer_for_ever(self.log.side, self.node, self._live, self.replica.outage.begin)
        return [("telemetry", self._measure_for_ever()), ("checks", self._check_for_ever()), ("output", answers)]

    def _pause(self) -> float:
        return self._round_due - boottime()

    def _is_urgent(self, event: Event) -> bool:
        """Orders are acted on at once."""
        return not event.by.endswith(f"/{presence.AGENT_PART}")

    def _on_back(self, lasted: float) -> None:
        _log.info("the lease has %.0f s left after %.1f s without the log", self.lease.deadline - boottime(), lasted)

    async def _renew(self) -> None:
        if boottime() - self._last_round > self.lease.ttl:
            # The rounds have stopped: an agent that cannot work must not keep its services from being recovered.
            if not self._stalled:
                _log.error("no round was done for %.0f s, the lease is not renewed", self.lease.ttl)
            self._stalled = True
            return
        self._stalled = False
        await super()._renew()
        if self._fault is None and self.lease.valid() and (self.holds or self._process.state == "wait_for_agent_lock"):
            try:
                await asyncio.to_thread(self._live.feed, self.lease.deadline)
            except KeeperRefused as error:
                await self._give_way(error)
            except KeeperError as error:
                # The next round meets it, too, and does what can be done.
                self._node_outage.begin(error)
                self._wake.set()

    async def _lost_lease(self) -> None:
        """Takes the lease again; whatever was fenced meanwhile is found out before anything runs again."""
        if await self._try_lease() is None:
            self._reset = self._reset or "the lease was over"
            self._last_round = boottime()
            self.work.void()
            if self.lease.token is not None:
                await asyncio.to_thread(self._live.use, self.lease.token)
            self._wake.set()

    async def _step(self) -> None:
        try:
            await self._work()
        except KeeperRefused as error:
            await self._give_way(error)
        except KeeperError as error:
            # Nothing can be done here for now; if it lasts, the lease is not renewed and others take over.
            self._node_outage.begin(error)
            self._round_due = boottime() + LEASE_INTERVAL
        else:
            self._node_outage.end()
            self._last_round = boottime()

    async def _give_way(self, error: KeeperRefused) -> None:
        """Somebody with a newer right was here: gives the lease back; the next one brings a right newer than that."""
        _log.error("the keeper refuses this agent: %s", error)
        self._reset = "its keeper had seen a newer right"
        self._round_due = boottime() + LEASE_INTERVAL
        await self.lease.release()

    async def _work(self) -> None:
        if not self.lease.valid():
            self._round_due = boottime() + LEASE_INTERVAL
            return
        await self._learn_of_kills()
        if self._reset is None and self._killed is not None:
            self._reset = "its keeper was not fed in time"
        if self._reset is None and self._process.view.fence and self._process.state != "wait_for_agent_lock":
            self._reset = "its node is to be fenced"
        if self._reset is not None:
            await self._begin_anew(self._reset)
            return
        await self._round()

    async def _learn_of_kills(self) -> None:
        """Asks the keeper what it killed; it tells once, so that is kept until it is on the record."""
        killed = await asyncio.to_thread(self._live.fired)
        if killed is not None:
            self._killed = (self._killed or frozenset()) | frozenset(killed)

    def _tell_kills(self, batch: Batch) -> bool:
        """Records what the keeper killed; returns whether there was anything to record."""
        if self._killed is None:
            return False
        killed = sorted(self._killed)
        batch.emit("node.watchdog_fired", self.node, about=f"{len(killed)} services", killed=killed)
        return True

    async def _begin_anew(self, because: str) -> None:
        """Does what the restart of a machine does: nothing of what ran before is taken for granted."""
        self.work.void()
        if self.lease.token is not None:
            await asyncio.to_thread(self._live.use, self.lease.token)
        if self._process.view.fence:
            await asyncio.to_thread(self._live.kill, await asyncio.to_thread(self._live.services))
        batch = await self._batch()
        batch.emit("agent.deposed", self.node, about=because, because=because)
        await self.replica.append(batch)
        await self._begin()
        self._wake.set()

    async def _trial(self) -> tuple[Decision, AgentProcess, _Port]:
        """Returns what a decision needs: what comes to nothing leaves nothing behind in the process that made it."""
        services, ends = await asyncio.to_thread(self._look)
        batch = await self._batch()
        for end in ends:
            record_end(batch, self.node, end)
        self._ended = frozenset(end.run for end in ends)
        return batch, copy.deepcopy(self._process), _Port(self, self.replica.state, services)

    def _look(self) -> tuple[Mapping[str, bool], Sequence[ServiceEnd]]:
        """Looks at the services: first what runs, so that what ends meanwhile is told at the latest a round later."""
        return self._live.services(), self._live.ends()

    async def _round(self) -> None:
        batch, process, port = await self._trial()
        try:
            process.round(batch, port)
            await self.replica.append(batch)
        except BaseException:
            self.work.forget_offers()
            raise
        self.work.settle()
        self._process, self.holds = process, port.holds and process.state in HOLDING
        if self._ended:
            await asyncio.to_thread(self._live.forget_ends, self._ended)
        await self._stop_strays(port.services)
        self._round_due = boottime() + min(self._intervals.agent_round, self._next_start(batch.at))

    def _next_start(self, now: float) -> float:
        """Returns the seconds until the first service may be started that waits for that."""
        waits = [order.not_before - now for order in self._process.view.orders if order.not_before is not None]
        return max(SHORTEST_WAIT, min((wait for wait in waits if wait > 0), default=math.inf))

    async def _stop_strays(self, services: Mapping[str, bool]) -> None:
        """Stops what ceased to belong here, a resource that was removed for example."""
        state = self.replica.state
        strays = {name: _LEFT for name in state.leftovers if self._is_left(name)}
        strays |= {name: why for name, why in self._strays(services).items() if name not in state.resources}
        if not strays:
            return
        await asyncio.to_thread(self._live.kill, strays.keys() & services.keys())
        batch = await self._batch()
        self._tell_strays(batch, strays)
        await self.replica.append(batch)

    def _is_left(self, resource: str) -> bool:
        """Returns whether a resource may run here, is not to, and nothing is being done about it."""
        state = self.replica.state
        configuration, record = state.configurations.get(resource), state.resources.get(resource)
        wanted = {None if configuration is None else configuration.node}
        if record is not None:
            wanted |= {record.node, record.target}
        here = self.node in state.leftovers[resource] and self.node not in wanted
        return here and not self.work.is_busy(resource)

    async def _regressed(self, known_n: int) -> None:
        """Says what really runs here: reality wins over a log that lost its tail."""
        _log.error("the log had %d events and has %d", known_n, self.replica.state.n)
        if not await self.lease.renew():
            await self._try_lease()
        self._reset = "the log lost its tail"
        if self.replica.lost or known_n > self.replica.state.n:
            self._tail_lost = True
            await self._wait_for_others()
        self._wake.set()

    def _is_behind(self) -> bool:
        """Returns whether the record may be older than what runs here."""
        return self._tail_lost or (self._seen is not None and self._seen.n > self.replica.state.n)

    async def _wait_for_others(self) -> None:
        """Starts nothing until the other agents have said what runs on their nodes, or must have lost it."""
        others = set(self.replica.state.members) - {self.node}
        lost = [event.n for event in self.replica.lost]
        if lost:
            # Whoever noticed sooner has said so already.
            async for event in self.log.read_all(min(lost) - 1, lenient=True):
                if event.type == "agent.connected":
                    others.discard(event.subject)
        self._unheard_of.begin(others, self.lease.ttl)

    async def _measure_for_ever(self) -> None:
        while True:
            try:
                await publish(self.log.side, await asyncio.to_thread(self._live.measure))
            except LogUnavailable as error:
                self.replica.outage.begin(error)
            except KeeperError as error:
                _log.warning("the load is not known: %s", error)
            await asyncio.sleep(self._intervals.sample)

    async def _check_for_ever(self) -> None:
        while True:
            await asyncio.sleep(min(self._intervals.agent_round, CHECK_LOOK))
            if self.holds:
                try:
                    await asyncio.to_thread(self._live.check)
                except HaesError as error:
                    _log.warning("%s", error)

    async def _leave(self) -> None:
        """Leaves on purpose: services are frozen and go on running for the successor, the lease is given back."""
        try:
            async with asyncio.timeout(LEAVE_LIMIT):
                await self._persist(self._announce_leaving)
                while not await self._finished():  # noqa: ASYNC110 - what is waited for happens in other processes
                    await asyncio.sleep(LEAVE_INTERVAL)
        except TimeoutError:
            _log.info("left before every service was frozen; the leader freezes the others")
        except HaesError as error:
            _log.warning("%s", error)
        known = self.replica.state.agents.get(self.node)
        if self._process.mode == "restart" and known is not None and known.mode == "restart":
            await self._hand_over()
        self.work.close()

    async def _hand_over(self) -> None:
        """It is on the record that the services go on: nobody will start them elsewhere."""
        try:
            await asyncio.to_thread(self._live.disarm)
        except KeeperError as error:
            # They end when the lease is over, so it must not be given back before that.
            _log.warning("the services end with the lease: %s", error)
        else:
            await self._give_back()

    async def _give_back(self) -> None:
        try:
            async with asyncio.timeout(LEAVE_LIMIT):
                await self.lease.release()
        except (TimeoutError, HaesError) as error:
            _log.warning("the lease could not be given back and runs out by itself: %s", error)

    async def _announce_leaving(self) -> None:
        batch, process, port = await self._trial()
        process.request_shutdown(batch, port, node_goes=None)
        await self.replica.append(batch)
        self._process = process

    async def _finished(self) -> bool:
        """Does a round of leaving; returns whether the core lets the agent go."""
        lets_go = False

        async def leave() -> None:
            nonlocal lets_go
            batch, process, port = await self._trial()
            lets_go = not process.round(batch, port)
            if lets_go:
                batch.emit("agent.exited", self.node)
            try:
                await self.replica.append(batch)
            except BaseException:
                self.work.forget_offers()
                raise
            self.work.settle()
            self._process = process

        return await self._persist(leave) and lets_go
