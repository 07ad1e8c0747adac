"""One job, from the order to its exit code: what a state of a resource means for the node that it is on."""

from dataclasses import dataclass

from haes.drivers.port import Driver, Emit, Trouble
from haes.exit_codes import (
    CRASHED,
    ERROR,
    IGNORED,
    SUCCESS,
    TRY_AGAIN,
    UNKNOWN_COMMAND,
    UNKNOWN_KIND,
    UNKNOWN_RESOURCE,
    WRONG_NODE,
)
from haes.state.records import ResourceConfiguration


@dataclass(slots=True)
class Job:
    """What an agent does to one resource.

    Attributes:
        resource: the resource.
        number: the order's number, or None for a stop that the agent decided on itself because its node goes down.
        state: the state of the resource that the order follows from.
        target: where the resource goes, for motions.
        timeout: seconds that a stop may take, or None.
        arrived: it is on record that the resource reached the target: what is left is to say that the job is done.
        retry: number of the restart on this node that a start is, 0 for a first start.
        tries: how often it was looked at; more of them go first, so that none starves.
    """

    resource: str
    number: int | None
    state: str
    target: str | None = None
    timeout: int | None = None
    arrived: bool = False
    retry: int = 0
    tries: int = 0


def execute(job: Job, configuration: ResourceConfiguration | None, node: str, driver: Driver, emit: Emit) -> int:
    """Does a job on a node and returns its exit code; facts on the way are emitted."""
    kind = job.resource.partition(":")[0]
    if kind not in driver.kinds:
        emit("job.kind_unknown", kind=kind)
        return UNKNOWN_KIND
    if configuration is None:
        emit("job.unconfigured")
        return UNKNOWN_RESOURCE
    if job.state == "error":
        emit("job.needs_help")
        return SUCCESS
    if job.arrived:
        return SUCCESS
    if configuration.node != node:
        emit("job.wrong_node")
        return WRONG_NODE
    if job.state == "started":
        return _start(job, driver, emit)
    if job.state in {"request_stop", "stopped"}:
        return _stop(job, driver, emit)
    if job.state in {"migrate", "relocate", "request_start_balance"}:
        return _move(job, configuration, driver, emit)
    emit("job.not_implemented", state=job.state)
    return UNKNOWN_COMMAND


def _start(job: Job, driver: Driver, emit: Emit) -> int:
    if driver.running(job.resource):
        return SUCCESS
    if job.retry:
        emit("job.retrying", attempt=job.retry)
    emit("job.starting")
    driver.start(job.resource, emit)
    if driver.running(job.resource):
        emit("job.running")
        return SUCCESS
    emit("job.start_failed")
    # Where the node tells how it ended, what follows is decided by that, which is on record before the next look.
    return TRY_AGAIN if driver.tells_ends(job.resource) else ERROR


def _stop(job: Job, driver: Driver, emit: Emit) -> int:
    if not driver.running(job.resource):
        return SUCCESS
    emit("job.stopping", timeout=job.timeout)
    driver.stop(job.resource, job.timeout, emit)
    if driver.running(job.resource):
        emit("job.stop_failed")
        return ERROR
    emit("job.stopped")
    return SUCCESS


def _move(job: Job, configuration: ResourceConfiguration, driver: Driver, emit: Emit) -> int:
    if job.target is None:
        emit("job.target_missing", state=job.state)
        return CRASHED
    if configuration.node == job.target:
        return SUCCESS
    if job.state == "request_start_balance" and driver.running(job.resource):
        emit("job.start_balance_skipped")
        return IGNORED
    moved = driver.move(job.resource, job.target, emit, live=job.state == "migrate")
    if moved is True:
        return SUCCESS
    if isinstance(moved, Trouble):
        emit("job.move_failed", because=moved.because, whole_node=moved.whole_node)
    else:
        emit("job.move_failed")
    return ERROR
