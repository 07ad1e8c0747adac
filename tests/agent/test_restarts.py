"""The restart policy follows from the stream: whoever is killed, neither counts nor waiting change."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Event
from haes.agent.deaths import record_end
from haes.agent.execution import Job, execute
from haes.agent.jobs import JobQueue
from haes.agent.view import look
from haes.configuration.restarts import policy_of
from haes.drivers.port import ServiceEnd
from haes.manager.inputs import Claim, Loads, RoundInputs
from haes.manager.round import Leader
from haes.state import ClusterState
from haes.state.batch import Batch
from haes.state.fold import apply_event

NODES = ("n1", "n2")
# Seconds that are simulated, and for which a service runs that does not die.
LENGTH, FOR_EVER = 150, 10_000
POLICY = {"restart-delay": 1, "restart-factor": 3, "restart-max-delay": 20, "restart-healthy": 15, "restart-window": 60}


@dataclass
class _Node:
    """A node with its one service, which outlives its agent."""

    name: str
    cluster: "_Cluster"
    since: int | None = None
    lifetime: int = 0
    ends: list[ServiceEnd] = field(default_factory=list)
    queue: JobQueue = field(default_factory=lambda: JobQueue(""))

    kinds = frozenset({"process"})
    balances = False

    def running(self, _resource: str) -> bool:
        return self.since is not None

    def start(self, _resource: str, _emit: Any) -> None:
        self.since = self.cluster.now
        self.lifetime = self.cluster.lifetimes.pop(0) if self.cluster.lifetimes else FOR_EVER
        self.cluster.starts.append((self.cluster.now, self.name))

    def stop(self, _resource: str, _timeout: int | None, _emit: Any) -> None:
        self.since = None

    def move(self, _resource: str, target: str, emit: Any, *, live: bool) -> bool:
        self.since = None
        emit("job.moved", verb="migrate" if live else "relocate", target=target)
        return True

    def tells_ends(self, _resource: str) -> bool:
        return True

    def interrupt(self, _resource: str) -> None:
        """Nothing waits."""

    def preflight(self, _resource: str, _target: str) -> tuple[str, ...]:
        return ()

    def run(self, job: Job, batch: Batch) -> int | None:
        """Does a job at once."""
        assert batch.state is not None
        configuration = batch.state.configurations.get(job.resource)

        def emit(type_: str, **payload: Any) -> None:
            batch.emit(type_, job.resource, **payload)

        return execute(job, configuration, self.name, self, emit)


class _Cluster:
    """Two nodes, one service that dies as planned, an agent on each node, one leader; a round of all every second."""

    def __init__(self, lifetimes: list[int], max_restart: int, max_relocate: int) -> None:
        self.now = 0
        self.lifetimes = list(lifetimes)
        self.starts: list[tuple[int, str]] = []
        self.nodes = [_Node(name, self) for name in NODES]
        self.leader = Leader()
        self.state = ClusterState()
        self.events: list[Event] = []
        batch = self.batch("test")
        batch.emit("cluster.created", "cluster", name="c")
        batch.emit("settings.changed", "settings", settings={"ha": POLICY})
        for name in NODES:
            batch.emit("node.added", name)
            batch.emit("agent.reported", name, state="active", mode="active")
        changes = {"node": "n1", "state": "started", "max_restart": max_restart, "max_relocate": max_relocate}
        batch.emit("resource.configured", "process:a", changes=changes)
        self.write(batch)

    def batch(self, by: str) -> Batch:
        return Batch(self.state.working_copy(), by, self.now)

    def write(self, batch: Batch) -> None:
        for event in batch.events:
            apply_event(self.state, event)
        self.events += batch.events

    def second(self, *, killed: bool, lost: bool, failover: bool) -> None:
        """Lets everybody have a round; agents may be new ones, or die before theirs is on record, leaders, too."""
        self.now += 1
        for node in self.nodes:
            if node.since is not None and self.now - node.since >= node.lifetime:
                run = f"{node.name}/{node.since}"
                node.ends.append(ServiceEnd("process:a", run, 3, None, None, self.now - node.since))
                node.since = None
            if killed:
                node.queue = JobQueue(node.name)
            if lost:
                self.agent_round(node)
                node.queue = JobQueue(node.name)
            self.write(self.agent_round(node))
            # The word that it is on record is lost when the agent is killed right after it.
            node.ends = node.ends if killed else []
        batch = self.batch("n1/crm")
        if failover or self.now == 1:
            self.leader = Leader()
            self.leader.take_over(batch, "n1")
        if lost:
            Leader().manage(self.batch("n1/crm"), self.inputs())
        self.leader.manage(batch, self.inputs())
        self.write(batch)

    def inputs(self) -> RoundInputs:
        online = dict.fromkeys(NODES, True)
        return RoundInputs(self.now, "n1", online, True, lambda _: Claim.REFUSED, Loads, outside=True)

    def agent_round(self, node: _Node) -> Batch:
        batch = self.batch(f"{node.name}/lrm")
        for end in node.ends:
            record_end(batch, node.name, end)
        assert batch.state is not None
        view = look(batch.state, node.name)
        node.queue.add_orders(batch, view)
        node.queue.run(batch, node, view)
        node.queue.report(batch)
        return batch

    def deaths(self) -> list[tuple[float, dict[str, Any]]]:
        return [(event.at, event.payload) for event in self.events if event.type == "service.died"]


def _run(lifetimes: list[int], most: tuple[int, int], faults: list[tuple[bool, bool, bool]]) -> _Cluster:
    cluster = _Cluster(lifetimes, *most)
    for second in range(LENGTH):
        killed, lost, failover = faults[second] if second < len(faults) else (False, False, False)
        cluster.second(killed=killed, lost=lost, failover=failover)
    return cluster


_LIFETIMES = st.lists(st.integers(1, 20), max_size=12)
_MOST = st.tuples(st.integers(0, 4), st.integers(0, 2))
_FAULTS = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=LENGTH)


@settings(max_examples=60, deadline=None)
@given(_LIFETIMES, _MOST, _FAULTS)
def test_neither_counts_nor_waiting_change_whoever_is_killed(
    lifetimes: list[int], most: tuple[int, int], faults: list[tuple[bool, bool, bool]]
) -> None:
    """With agents and leaders that die at any moment the service dies, waits, moves and ends up as without."""
    calm, rough = _run(lifetimes, most, []), _run(lifetimes, most, faults)
    assert rough.deaths() == calm.deaths()
    assert rough.starts == calm.starts
    assert rough.state.services == calm.state.services
    ours, theirs = rough.state.resources["process:a"], calm.state.resources["process:a"]
    assert (ours.state, ours.node, ours.failed_nodes) == (theirs.state, theirs.node, theirs.failed_nodes)


@settings(max_examples=60, deadline=None)
@given(_LIFETIMES, _MOST)
def test_a_service_is_started_no_sooner_and_no_oftener_than_the_policy_says(
    lifetimes: list[int], most: tuple[int, int]
) -> None:
    """No start comes before its time; no more failures than allowed count on a node, nor nodes before error."""
    cluster = _run(lifetimes, most, [])
    policy = policy_of(cluster.state, "process:a")
    for at, payload in cluster.deaths():
        assert payload["until"] - at == policy.wait(payload["series"])
        assert payload["plan"] == ("restart" if payload["failures"] <= most[0] else "relocate")
        assert payload["failures"] <= most[0] + 1
        following = [start for start, _ in cluster.starts if start > at - payload["ran"]]
        assert all(start >= payload["until"] for start in following)
    # What is known is not confirmed again, or agent and leader would go on telling each other.
    assert sum(event.type == "resource.confirmed" for event in cluster.events) <= len(cluster.starts)
    error = [event for event in cluster.events if event.type == "resource.error"]
    if error:
        assert len(cluster.state.resources["process:a"].failed_nodes or ()) == most[1] + 1
        assert error[0].payload["because"].startswith("exited with 3, ")
