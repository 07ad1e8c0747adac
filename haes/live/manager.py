"""A manager in a process of its own: stands by, leads, resigns. Brings the core what it needs and appends its answers.

The core decides in `haes/manager`; here are leases, waiting, the log's faults and nothing of HA.
"""

import asyncio
import copy
import logging
import math
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from events.codec import encode_for_append
from events.envelope import Event
from events.errors import HaesError, StaleDecision
from events.log.port import EventLog, LeaseInfo
from haes import settings
from haes.bounds import shown_error
from haes.clock import boottime
from haes.configuration.cluster import Intervals
from haes.live import presence
from haes.live.announce import announce, not_understood
from haes.live.archivist import Archivist
from haes.live.decision import Right
from haes.live.lease import HeldLease, SeenRights
from haes.live.presence import ARCHIVE_TROUBLE, LEADER_LEASE
from haes.live.requests import forget_received, pending_requests
from haes.live.seen import SeenFile
from haes.live.telemetry import LoadWindow
from haes.live.version import PROGRAM_VERSION
from haes.live.worker import LEASE_INTERVAL, Worker
from haes.manager.inputs import Claim, Request, RoundInputs, Undecidable
from haes.manager.process import ManagerProcess
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.restore import save_state

_log = logging.getLogger(__name__)

# Seconds between two looks at the leader's lease and at requests: what a command waits at most. A lease that runs out
# is looked at then, and not sooner after a look that came a little early than this many seconds.
POLL_INTERVAL = 0.5
SHORTEST_PAUSE = 0.01
# Event types after which a leader does not wait for its next round: reports, and agents that come or leave.
URGENT = frozenset({"job.done", "agent.reported", "agent.connected", "command.received"})
# Seconds beyond a sampling interval for which loads may be missing before that is worth a warning: what has just begun
# is measured for the first time, which takes a while on a busy machine.
LOADS_DUE = 20.0
# Seconds for a manager to write that it leaves, and to give its leases back.
LEAVE_LIMIT = 1.5
# Lost events that are named when the log lost its tail; the others are counted.
LOST_NAMED = 100


@dataclass(slots=True)
class _Port:
    """See ManagerPort. The watchdog of a live manager is its lease: it cannot write a moment longer."""

    claim: Claim
    quorate: bool = True
    consistent: bool = True
    readable: bool = True
    asked: bool = False
    released: bool = False

    def claim_lock(self) -> Claim:
        self.asked = True
        answer, self.claim = self.claim, Claim.KEPT if self.claim is Claim.NEW else self.claim
        return answer

    def release_lock(self) -> bool:
        self.released = True
        return True

    def feed_watchdog(self) -> None:
        """Nothing to do."""

    def close_watchdog(self) -> None:
        """Nothing to do."""


def _copy(process: ManagerProcess) -> ManagerProcess:
    """Returns a process that can go its own way; what its leader derived from the state is shared."""
    twin = copy.copy(process)
    twin.leader = copy.copy(process.leader)
    return twin


def _check_encodable(batch: Batch) -> None:
    """Makes sure that every event can be stored.

    Raises:
        Undecidable: one cannot; the resource that it is about is to blame.
    """
    assert batch.state is not None  # noqa: S101 - managers decide on a working copy
    for event in batch.events:
        try:
            encode_for_append(event)
        except Exception as error:
            if event.subject not in batch.state.resources:
                raise
            raise Undecidable(event.subject, shown_error(error)) from error


class ManagerWorker(Worker):
    """One manager; its name is usually that of the node that it runs on."""

    def __init__(
        self,
        log: EventLog,
        node: str,
        intervals: Intervals,
        owner: str,
        seen: SeenFile | None = None,
        archivist: Archivist | None = None,
    ) -> None:
        super().__init__(log, node, "crm", HeldLease(log, f"manager/{node}", owner, intervals.leader_lease), seen)
        self._intervals = intervals
        self._leader = HeldLease(log, LEADER_LEASE, owner, intervals.leader_lease)
        self._rights = SeenRights()
        self._leader.newest = self._rights.of(LEADER_LEASE)
        self._process = ManagerProcess(node)
        self._window = LoadWindow()
        self._archivist = archivist
        self._leader.note = self._leader_note
        self._grace_until = boottime() + intervals.agent_lease
        # Nodes whose leases the last round wanted, and those whose leases are held in order to fence them.
        self._wanted: set[str] = set()
        self._fencing: dict[str, HeldLease] = {}
        self._round_due = 0.0
        # When the leader's lease runs out, as far as is known, by `boottime`.
        self._free_at = math.inf
        self._news = False
        # Requests may lie in their users' streams whose receipt is on the log: a predecessor's, too.
        self._received = True
        self._snapshot_n = 0
        self._regression: tuple[int, int] | None = None
        self._declined = False
        self._waiting_for: dict[str, list[str]] | None = None

    @property
    def leads(self) -> bool:
        """Whether this manager is the leader."""
        return self._process.leader is not None

    def use(self, intervals: Intervals) -> None:
        """See Worker."""
        self._intervals = intervals
        self.lease.ttl = self._leader.ttl = intervals.leader_lease

    def _tasks(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        return [] if self._archivist is None else [("archive", self._archivist.run(self._leader.valid))]

    def _leader_note(self) -> dict[str, str]:
        trouble = None if self._archivist is None else self._archivist.trouble
        return {} if trouble is None else {ARCHIVE_TROUBLE: trouble}

    async def _begin(self) -> None:
        process = ManagerProcess(self.node)
        batch = await self._batch()
        announce(batch, self.lease.name)
        process.start(batch)
        await self.replica.append(batch)
        self._process = process
        self._snapshot_n = max(await self.log.snapshot_numbers(), default=0)

    def _pause(self) -> float:
        now = boottime()
        pause = min(POLL_INTERVAL, self._round_due - now)
        return pause if self.leads else min(pause, max(SHORTEST_PAUSE, self._free_at - now))

    def _is_urgent(self, event: Event) -> bool:
        if not self.leads or event.type not in URGENT:
            return False
        self._news = True
        return True

    def _on_back(self, lasted: float) -> None:
        if lasted > self._intervals.leader_lease:
            _log.warning("agents have %.0f s to renew before any node counts as lost", self._intervals.agent_lease)
        self._grace_until = boottime() + self._intervals.agent_lease

    async def _renew(self) -> None:
        await super()._renew()
        if self._fault is None and self._leader.token is not None:
            await self._leader.renew()

    async def _regressed(self, known_n: int) -> None:
        """Leads no more for now; whoever leads next says what was lost, and agents get time to renew."""
        found = self.replica.state.n
        if self._regression is not None:
            known_n = max(known_n, self._regression[0])
        self._regression = (known_n, found)
        self._grace_until = boottime() + self._intervals.agent_lease
        self._leader.forget()
        self.lease.forget()
        await self.lease.acquire(seize=True)
        await self._begin()

    async def _step(self) -> None:
        if not self.lease.valid() and not (self.leads and self._leader.valid()):
            # Nothing can be said, so nothing is decided, until the log grants a lease again.
            self._round_due = boottime() + LEASE_INTERVAL
            return
        newer = [subject for subject, parked in self.replica.state.parked.items() if parked.newer]
        if newer:
            await self._decline(newer)
            return
        self._declined = False
        due = boottime() >= self._round_due
        if not self.leads:
            await self._stand_by(due=due)
            return
        if self._received:
            await forget_received(self.log.side, self.replica.state)
            self._received = False
        requests = await pending_requests(self.log.side, self.replica.state)
        if not (due or self._news or requests or self._fencing or not self._leader.valid()):
            return
        await self._round(Claim.KEPT if self._leader.valid() else Claim.REFUSED, requests, early=not due)

    async def _decline(self, newer: list[str]) -> None:
        """Leads nothing: a program newer than this one wrote events, and deciding without them would be wrong."""
        self._round_due = boottime() + self._intervals.round
        if not self._declined:
            self._declined = True
            _log.error(
                "there are events about %s that this program (%s) is too old for; it does not lead",
                ", ".join(sorted(newer)),
                PROGRAM_VERSION,
            )
            batch = await self._batch()
            batch.emit("manager.declined", self.node, about=", ".join(sorted(newer)), subjects=sorted(newer))
            await self.replica.append(batch)
        if self.leads:
            self._process = ManagerProcess(self.node)
            await self._leader.release()
            await self._begin()

    async def _stand_by(self, *, due: bool) -> None:
        """Follows, and takes the leader's lease as soon as it is free and the core wants it."""
        if self._leader.token is not None:
            # Left over from a round that came to nothing, as far as is known; what is on its way still must not arrive,
            # and every election has an epoch of its own.
            await self._leader.release()
        lease = (await self._leases()).get(LEADER_LEASE)
        free = presence.is_over(lease)
        left = None if lease is None else lease.expires_in
        self._free_at = math.inf if left is None or left <= 0 else boottime() + left
        if not (due or free):
            return
        batch = await self._batch()
        trial, port = _copy(self._process), _Port(Claim.REFUSED)
        trial.round(batch, port, self._no_inputs)
        if free and port.asked and await self._leader.acquire():
            # What others wrote until the lease was granted must be known before anything is decided.
            await self.replica.catch_up()
            await self._round(Claim.NEW, await pending_requests(self.log.side, self.replica.state), early=False)
            return
        self._round_due = boottime() + self._intervals.round
        await self.replica.append(batch)
        self._process = trial

    async def _leases(self) -> dict[str, LeaseInfo]:
        """Returns the leases as the log has them, and remembers which rights it gave; it may forget them."""
        leases = await self.log.leases()
        self._rights.note(leases, 0 if self.lease.token is None else self.lease.token.generation)
        return leases

    def _no_inputs(self) -> RoundInputs:
        raise HaesError("a manager that stands by decides nothing")

    async def _round(self, claim: Claim, requests: list[Request], *, early: bool) -> None:
        """Does one round and appends what it decided."""
        # Without the leader's lease only the manager's own state can be said, whatever is decided.
        right = Right.of(self.lease if claim is Claim.REFUSED else self._leader)
        heard = self._heard()
        leases = await self._leases()
        if not early:
            window = float(settings.crs(self.replica.state.settings, "ha-load-average-window"))
            await self._window.read(self.log.side, window)
        undecidable: dict[str, str] = {}
        while True:
            batch = await self._batch(right)
            if self._heard() != heard:
                # An agent that came back since then must not be fenced for a lease that it had lost before.
                raise StaleDecision("an agent wrote since the leases were read")
            # A decision that comes to nothing must leave nothing behind in the process that made it.
            process, port, wanted = _copy(self._process), _Port(claim), set[str]()
            if right.lease is self._leader:
                self._say_what_was_lost(batch)
            inputs = partial(self._inputs, process, batch, leases, requests, wanted, undecidable, early=early)
            try:
                process.round(batch, port, inputs)
                _check_encodable(batch)
            except Undecidable as error:
                if error.resource in undecidable:
                    raise
                _log.exception("nothing can be decided about %s, it is parked: %s", error.resource, error.problem)
                undecidable[error.resource] = error.problem
            else:
                break
        behind = not_understood(batch.events, self.replica.state, leases)
        if behind:
            await self._wait_for_upgrade(behind)
            return
        self._waiting_for = None
        await self.replica.append(batch)
        self._process, self._wanted, self._news = process, wanted, False
        self._received = self._received or bool(requests) or claim is Claim.NEW
        if right.lease is self._leader and self._regression is not None:
            self._regression = None
            self.replica.lost.clear()
        if not early:
            self._round_due = boottime() + self._intervals.round
        if port.released or not self.leads:
            await self._leader.release()
        await self._fence_wanted(right, leases)
        await self._keep_snapshot()

    def _heard(self) -> dict[str, int]:
        """Returns node -> how many events about it are known; more of them say that its agent was there."""
        versions = self.replica.state.versions
        return {node: versions.get(node, 0) for node in self.replica.state.members}

    async def _wait_for_upgrade(self, behind: dict[str, list[str]]) -> None:
        """Writes nothing that somebody who is there cannot read; tried again every round."""
        self._round_due = boottime() + self._intervals.round
        self._news = False
        if behind != self._waiting_for:
            self._waiting_for = behind
            types, members = sorted(behind), sorted({name for names in behind.values() for name in names})
            _log.error("%s cannot read %s yet; upgrade them", ", ".join(members), ", ".join(types))
            batch = await self._batch()
            batch.emit("manager.waits", self.node, about=", ".join(members), types=types, members=members)
            await self.replica.append(batch)

    def _say_what_was_lost(self, batch: Batch) -> None:
        if self._regression is None:
            return
        known, found = self._regression
        lost = self.replica.lost
        batch.emit(
            "log.regressed",
            "log",
            about=f"{known - found} events lost",
            known_n=known,
            found_n=found,
            generation=0 if self._leader.token is None else self._leader.token.generation,
            lost=[[event.n, event.type, event.subject] for event in lost[:LOST_NAMED]],
        )

    def _inputs(
        self,
        process: ManagerProcess,
        batch: Batch,
        leases: dict[str, LeaseInfo],
        requests: list[Request],
        wanted: set[str],
        undecidable: Mapping[str, str],
        *,
        early: bool,
    ) -> RoundInputs:
        leader, state = process.leader, self.replica.state

        def claim_agent(node: str) -> Claim:
            granted = node in self._fencing or self._has_let_go(state, leases, node)
            if not granted:
                wanted.add(node)
            return Claim.NEW if granted else Claim.REFUSED

        return RoundInputs(
            at=batch.at,
            node=self.node,
            online=presence.nodes_present(state, leases, grace=boottime() < self._grace_until),
            quorate=True,
            claim_agent=claim_agent,
            loads=lambda: self._window.loads(batch.state or state),
            previous_round_at=None if leader is None else leader.previous_round_at,
            streak=0 if leader is None else leader.streak,
            requests=requests,
            undecidable=undecidable,
            fence_delay=self._intervals.fence_delay,
            loads_patience=LOADS_DUE + self._intervals.sample,
            early=early,
            outside=True,
        )

    @staticmethod
    def _has_let_go(state: ClusterState, leases: dict[str, LeaseInfo], node: str) -> bool:
        """Returns whether an agent is there that runs nothing: it began anew and has not taken its lock."""
        lease, agent = leases.get(presence.agent_lease(node)), state.agents.get(node)
        there = lease is not None and not presence.is_over(lease) and presence.held_by_agent(lease, node)
        return there and agent is not None and agent.state == "wait_for_agent_lock" and agent.mode != "restart"

    async def _fence_wanted(self, right: Right, leases: dict[str, LeaseInfo]) -> None:
        """Takes the leases of nodes that are to be fenced, where they are provably over; the leader does."""
        for node, held in list(self._fencing.items()):
            if node not in self._wanted:
                await held.release()
                del self._fencing[node]
        for node in self._wanted - self._fencing.keys():
            lease_of_agent = leases.get(presence.agent_lease(node))
            # A lease that is not there proves something only to whoever has watched for its longest term.
            if not presence.is_over(lease_of_agent) or (lease_of_agent is None and boottime() < self._grace_until):
                continue
            kept = presence.kept_resources(self.replica.state, node)
            if kept and node not in self.replica.state.fence_confirmed:
                _log.warning("node %s may still run %s; waiting for 'haes node confirm-fenced %s'", node, kept[0], node)
                continue
            lease = HeldLease(self.log, presence.agent_lease(node), self.by, self._intervals.leader_lease)
            lease.newest = self._rights.of(lease.name)
            right.check()
            if await lease.acquire():
                self._fencing[node] = lease
                self._wake.set()

    async def _keep_snapshot(self) -> None:
        if self.replica.state.n - self._snapshot_n >= self._intervals.snapshot_events:
            n = self.replica.state.n
            await save_state(self.log, self.replica.state)
            self._snapshot_n = n

    async def _leave(self) -> None:
        """Resigns: says so, and gives its leases back, so that a standby need not wait for a term to end."""
        try:
            async with asyncio.timeout(LEAVE_LIMIT):
                await self._persist(self._resign)
                for lease in (*self._fencing.values(), self._leader, self.lease):
                    await lease.release()
        except (TimeoutError, HaesError) as error:
            _log.warning("left without a word, the lease runs out by itself: %s", error or "no answer in time")

    async def _resign(self) -> None:
        leads = self._leader.valid()
        batch = await self._batch(Right.of(self._leader if leads else self.lease))
        process = _copy(self._process)
        process.request_shutdown(batch)
        process.round(batch, _Port(Claim.KEPT if leads else Claim.REFUSED), self._no_inputs)
        batch.emit("manager.exited", self.node)
        await self.replica.append(batch)
        self._process = process
