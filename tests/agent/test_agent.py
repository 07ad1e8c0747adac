"""The agent: what it does to resources, how it tries again, and how it leaves."""

from typing import Any

import pytest

from haes.agent.execution import Job, execute
from haes.agent.jobs import JobQueue
from haes.agent.leaving import plan_leaving
from haes.agent.view import NodeView, Order
from haes.exit_codes import (
    CRASHED,
    ERROR,
    IGNORED,
    SUCCESS,
    UNKNOWN_COMMAND,
    UNKNOWN_KIND,
    UNKNOWN_RESOURCE,
    WRONG_NODE,
)
from haes.state import ClusterState
from haes.state.batch import Batch
from haes.state.records import ResourceConfiguration, ResourceRecord
from tests.builders import cluster, motions, tell

QUIET = {"ha": "basic", "ha-auto-rebalance": 0}


class _Driver:
    """A driver of one resource that does as it is told, unless it is stubborn."""

    kinds = frozenset({"vm"})
    balances = False

    def __init__(self, *, runs: bool, stubborn: bool) -> None:
        self.runs = runs
        self.stubborn = stubborn
        self.calls: list[str] = []

    def running(self, _resource: str) -> bool:
        return self.runs

    def start(self, _resource: str, _emit: Any) -> None:
        self.calls.append("start")
        self.runs = self.runs or not self.stubborn

    def stop(self, _resource: str, _timeout: int | None, _emit: Any) -> None:
        self.calls.append("stop")
        self.runs = self.runs and self.stubborn

    def move(self, _resource: str, _target: str, _emit: Any, *, live: bool) -> bool:
        self.calls.append("migrate" if live else "relocate")
        return not self.stubborn

    def tells_ends(self, _resource: str) -> bool:
        return False

    def preflight(self, _resource: str, _target: str) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("state", "runs", "stubborn", "calls", "exit_code"),
    [
        ("started", False, False, ["start"], SUCCESS),
        ("started", True, False, [], SUCCESS),
        ("started", False, True, ["start"], ERROR),
        ("request_stop", True, False, ["stop"], SUCCESS),
        ("request_stop", True, True, ["stop"], ERROR),
        ("request_stop", False, True, [], SUCCESS),
        ("stopped", True, False, ["stop"], SUCCESS),
        ("migrate", True, False, ["migrate"], SUCCESS),
        ("migrate", True, True, ["migrate"], ERROR),
        ("relocate", True, False, ["relocate"], SUCCESS),
        ("request_start_balance", False, False, ["relocate"], SUCCESS),
        ("request_start_balance", True, False, [], IGNORED),
        ("error", True, False, [], SUCCESS),
        ("recovery", True, False, [], UNKNOWN_COMMAND),
    ],
)
def test_a_job_is_what_the_state_means(
    state: str, runs: bool, stubborn: bool, calls: list[str], exit_code: int
) -> None:
    """Each state of a resource leads to one action of the driver, or none, and to one exit code."""
    driver = _Driver(runs=runs, stubborn=stubborn)
    job = Job("vm:101", 1, state, target="node2")
    assert execute(job, ResourceConfiguration("node1"), "node1", driver, _silent) == exit_code
    assert driver.calls == calls


@pytest.mark.parametrize(
    ("job", "configuration", "exit_code"),
    [
        (Job("ct:101", 1, "started"), ResourceConfiguration("node1"), UNKNOWN_KIND),
        (Job("vm:101", 1, "started"), None, UNKNOWN_RESOURCE),
        (Job("vm:101", 1, "started"), ResourceConfiguration("node2"), WRONG_NODE),
        (Job("vm:101", 1, "migrate"), ResourceConfiguration("node1"), CRASHED),
        (Job("vm:101", 1, "migrate", target="node1"), ResourceConfiguration("node1"), SUCCESS),
    ],
)
def test_a_job_that_makes_no_sense_touches_nothing(
    job: Job, configuration: ResourceConfiguration | None, exit_code: int
) -> None:
    """The driver is not asked to do anything to a resource that is elsewhere, unknown, or already there."""
    driver = _Driver(runs=True, stubborn=False)
    assert execute(job, configuration, "node1", driver, _silent) == exit_code
    assert not driver.calls


def _silent(_type: str, **_payload: Any) -> None:
    """Says nothing to nobody."""


class _Port:
    """An agent's surroundings that answer jobs from a list."""

    quorate = consistent = readable = True

    def __init__(self, *answers: int | None) -> None:
        self.answers = list(answers)
        self.done: list[str] = []

    def run(self, job: Job, _batch: Batch) -> int | None:
        self.done.append(job.resource)
        return self.answers.pop(0)


def _view(*resources: str, number: int = 1, known_running: bool = False) -> NodeView:
    orders = tuple(Order(name, "started", number, None, None, known_running=known_running) for name in resources)
    return NodeView(orders, active=len(orders))


def _batch(max_restart: int = 1) -> Batch:
    state = ClusterState()
    for name in ("vm:101", "vm:102"):
        state.configurations[name] = ResourceConfiguration("node1", max_restart=max_restart)
        state.resources[name] = ResourceRecord("started", "node1")
    return Batch(state, "node1/lrm", 20)


def _reports(queue: JobQueue) -> list[tuple[str, int, int]]:
    batch = _batch()
    queue.report(batch)
    return [(event.subject, event.payload["job"], event.payload["exit_code"]) for event in batch.events]


def test_an_order_is_done_once_and_reported_once() -> None:
    """The same order is not done again, or the leader could miss a failure; a new number is a new order."""
    queue, port = JobQueue("node1"), _Port(SUCCESS, SUCCESS)
    for view in (_view("vm:101"), _view("vm:101"), _view("vm:101", number=2)):
        batch = _batch()
        queue.add_orders(batch, view)
        queue.run(batch, port, view)
    assert port.done == ["vm:101", "vm:101"]
    assert _reports(queue) == [("vm:101", 1, SUCCESS), ("vm:101", 2, SUCCESS)]
    assert _reports(queue) == []


@pytest.mark.parametrize("max_restart", [0, 1, 3])
def test_a_failed_start_is_tried_again_as_often_as_allowed(max_restart: int) -> None:
    """The leader hears of the failure once, after the last try on the node."""
    queue, port, view = JobQueue("node1"), _Port(*[ERROR] * 9), _view("vm:101")
    events = []
    while not (said := _reports(queue)):
        batch = _batch(max_restart)
        queue.add_orders(batch, view)
        queue.run(batch, port, view)
        events += [event.type for event in batch.events]
    assert said == [("vm:101", 1, ERROR)]
    assert len(port.done) == max_restart + 1
    assert events == ["job.retrying"] * max_restart + ["job.gave_up"]


def test_a_job_that_waited_longer_goes_first() -> None:
    """No resource starves behind one whose name sorts first."""
    queue, port = JobQueue("node1"), _Port(None, None, SUCCESS)
    queue.add(Job("vm:102", 1, "started"))
    assert queue.run(_batch(), port, _view("vm:102")) == 1
    queue.add(Job("vm:101", 1, "started"))
    queue.run(_batch(), port, _view("vm:101", "vm:102"))
    assert port.done == ["vm:102", "vm:102", "vm:101"]


def test_a_check_that_finds_a_resource_running_is_no_news() -> None:
    """What the leader knows is not reported every round."""
    queue, port, view = JobQueue("node1"), _Port(SUCCESS, SUCCESS), _view("vm:101", known_running=True)
    for _ in range(2):
        queue.add_orders(_batch(), view)
        queue.run(_batch(), port, view)
    assert port.done == ["vm:101", "vm:101"]
    assert _reports(queue) == []


@pytest.mark.parametrize(
    ("policy", "node_goes", "mode", "new_mode", "stop_all"),
    [
        ("conditional", "reboot", "active", "restart", True),
        ("conditional", "shutdown", "active", "shutdown", True),
        ("conditional", None, "active", "restart", False),
        ("freeze", "reboot", "active", "restart", True),
        ("freeze", "shutdown", "active", "restart", True),
        ("failover", "reboot", "active", "shutdown", True),
        ("failover", "shutdown", "active", "shutdown", True),
        ("migrate", "reboot", "active", "maintenance", False),
        ("migrate", "shutdown", "active", "maintenance", False),
        ("migrate", None, "active", "restart", False),
        ("conditional", "reboot", "maintenance", "maintenance", True),
        ("conditional", None, "maintenance", "maintenance", False),
    ],
)
def test_a_shutdown_policy_says_what_becomes_of_the_resources(
    policy: str, node_goes: str | None, mode: str, new_mode: str, stop_all: bool
) -> None:
    """For each policy and each way of leaving there is one mode, and resources are stopped unless they move away."""
    batch = _batch()
    assert batch.state is not None
    batch.state.settings = {"ha": {"shutdown_policy": policy}}
    plan = plan_leaving(batch, "node1", mode, node_goes)
    assert (plan.mode, plan.stop_all) == (new_mode, stop_all)
    assert [event.type for event in batch.events][-1] == "agent.leaving"


async def test_under_policy_migrate_a_node_is_empty_before_it_goes() -> None:
    """Resources move away while they run; none is stopped for the reboot, and all come back after."""
    scenario = cluster({"vm:101": {"node": 2}, "vm:102": {"node": 2}}, crs=QUIET, steps=[["reboot node2"]])
    scenario.settings["ha"] = {"shutdown_policy": "migrate"}
    story = await tell(scenario)
    (off,) = [event for event in story.of("simulation.command") if event.payload["command"] == "power node2 off"]
    away = [event for event in story.of("job.moved") if event.n < off.n]
    assert {event.subject for event in away} == {"vm:101", "vm:102"}
    assert not story.of("job.stopping", "node.fenced")
    assert {record.node for record in story.state.resources.values()} == {"node2"}


async def test_a_resource_that_cannot_be_stopped_keeps_its_node_from_leaving_safely() -> None:
    """An agent that could not stop everything keeps its lock, so the node is fenced before anything moves."""
    scenario = cluster({"fa:1001": {"node": 2}}, crs=QUIET, steps=[["shutdown node2"]])
    story = await tell(scenario)
    assert story.of("job.stop_failed")
    assert [event.subject for event in story.of("node.fenced")] == ["node2"]
    assert story.of("resource.recovered")[0].n > story.of("node.fenced")[0].n


async def test_a_job_that_takes_its_time_is_reported_when_it_ends() -> None:
    """An agent goes on with its rounds, and keeps its lock, while a motion is under way."""
    scenario = cluster({"vm:101": {"node": 1}}, crs=QUIET, steps=[["service vm:101 migrate node2"]])
    story = await tell(scenario, motions(slow={"vm:101": 400}))
    (done,) = [event for event in story.of("job.done") if event.payload["state"] == "migrate"]
    assert done.at >= 400
    assert not story.of("agent.lost_agent_lock", "node.fenced")
    assert story.state.resources["vm:101"].node == "node2"
