"""What is on the record about a job binds: agents that begin anew, the state and the leader all go on from it."""

from typing import Any

import pytest

from haes.agent.execution import Job, execute
from haes.agent.jobs import JobQueue
from haes.agent.view import look
from haes.exit_codes import ERROR, SUCCESS, WRONG_NODE
from haes.manager.inputs import Claim, RoundInputs
from haes.manager.process import ManagerProcess
from haes.state import ClusterState
from haes.state.batch import Batch
from haes.state.records import ResourceConfiguration, ResourceRecord
from haes.telemetry import SampleWindow
from tests.agent.test_agent import _Driver

RESOURCE, JOB = "vm:1", 8


def _state(*, state: str = "migrate") -> ClusterState:
    """Returns a state in which node2 is to bring a resource to node1, or to do something else to it."""
    result = ClusterState()
    result.nodes = dict.fromkeys(("node1", "node2", "node3"), "online")
    result.members = set(result.nodes)
    result.present = set(result.nodes)
    result.configurations[RESOURCE] = ResourceConfiguration("node2", state="started")
    target = "node1" if state == "migrate" else None
    result.resources[RESOURCE] = ResourceRecord(state, "node2", target=target, job=JOB)
    return result


def _tell(state: ClusterState, *, moved: bool, ends: tuple[int, ...] = ()) -> None:
    """Records what an agent said of the job."""
    batch = Batch(state, "node2/lrm", 10)
    if moved:
        batch.emit("job.moved", RESOURCE, verb="migrate", target="node1")
    for exit_code in ends:
        batch.emit("job.done", RESOURCE, job=JOB, state=state.resources[RESOURCE].state, exit_code=exit_code)


class _Port:
    """The surroundings of an agent on node2 whose resource runs."""

    quorate = consistent = readable = True

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.driver = _Driver(runs=True, stubborn=False)

    def run(self, job: Job, batch: Batch) -> int:
        return execute(
            job,
            self.state.configurations[RESOURCE],
            "node2",
            self.driver,
            lambda type_, **payload: batch.emit(type_, job.resource, **payload),
        )


def _begin_anew(state: ClusterState, port: Any) -> list[tuple[int, int]]:
    """Lets an agent that remembers nothing do a round; returns the job numbers and exit codes that it reports."""
    batch = Batch(state.working_copy(), "node2/lrm", 20)
    queue, view = JobQueue("node2"), look(state, "node2")
    queue.add_orders(batch, view)
    queue.run(batch, port, view)
    queue.report(batch)
    return [(event.payload["job"], event.payload["exit_code"]) for event in batch.events if event.type == "job.done"]


def _lead(state: ClusterState, *, online: tuple[str, ...] = ("node1", "node2", "node3")) -> ResourceRecord:
    """Lets a new leader do one round and returns what it makes of the resource."""
    batch = Batch(state, "node3/crm", 100)
    inputs = RoundInputs(
        at=100,
        node="node3",
        online={node: node in online for node in state.nodes},
        quorate=True,
        claim_agent=lambda _node: Claim.REFUSED,
        loads=lambda: SampleWindow().loads(state),
        previous_round_at=None,
        fence_delay=0,
        outside=True,
    )
    process = ManagerProcess("node3")
    process._enter(batch, "wait_for_quorum")
    process._enter(batch, "master")
    assert process.leader is not None
    process.leader.manage(batch, inputs)
    return state.resources[RESOURCE]


@pytest.mark.parametrize("state", ["migrate", "started", "request_stop"])
@pytest.mark.parametrize("exit_code", [SUCCESS, ERROR])
def test_an_order_whose_end_is_on_record_is_done(state: str, exit_code: int) -> None:
    """An agent that begins anew does no job again that its predecessor reported as ended, well or not."""
    known = _state(state=state)
    _tell(known, moved=False, ends=(exit_code,))
    port = _Port(known)
    assert _begin_anew(known, port) == []
    assert not port.driver.calls


def test_an_arrival_on_record_is_an_end() -> None:
    """When the predecessor died between arrival and report, the successor reports the success and moves nothing."""
    known = _state()
    _tell(known, moved=True)
    port = _Port(known)
    assert _begin_anew(known, port) == [(JOB, SUCCESS)]
    assert not port.driver.calls


def test_the_first_end_of_a_job_counts() -> None:
    """Whatever is reported of a job number after its first end changes nothing."""
    known = _state()
    _tell(known, moved=False, ends=(SUCCESS, WRONG_NODE))
    assert known.resources[RESOURCE].result == SUCCESS


@pytest.mark.parametrize("exit_code", [WRONG_NODE, ERROR])
def test_a_leader_believes_an_arrival_more_than_a_bad_end(exit_code: int) -> None:
    """A program that did the job again, or failed after the arrival, does not turn the arrival into a failure."""
    known = _state()
    _tell(known, moved=True, ends=(exit_code,))
    record = _lead(known)
    assert (record.state, record.node) == ("started", "node1")


def test_what_arrived_is_not_recovered_from_where_it_left() -> None:
    """A node that is lost right after the arrival is not fenced for a resource that runs elsewhere already."""
    known = _state()
    _tell(known, moved=True)
    record = _lead(known, online=("node1", "node3"))
    assert (record.state, record.node) == ("started", "node1")


def test_a_bad_end_without_an_arrival_stays_one() -> None:
    """What did not arrive has failed, as before."""
    known = _state()
    _tell(known, moved=False, ends=(WRONG_NODE,))
    assert _lead(known).state == "error"
