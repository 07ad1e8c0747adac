"""The jobs of one agent: queued, done, tried again, reported. Knows nothing of locks and modes."""

from haes.agent.execution import Job
from haes.agent.port import AgentPort
from haes.agent.view import NodeView, Order
from haes.exit_codes import CRASHED, ERROR, SUCCESS, TRY_AGAIN
from haes.state.batch import Batch

# States whose results the leader waits for. It does not for stopped (checked every round), nor for error.
_REPORTED = frozenset({"started", "request_stop", "migrate", "relocate", "request_start_balance"})
# States in which there is nothing to do for an agent.
_NOTHING_TO_DO = frozenset({"recovery", "freeze", "request_start"})


class JobQueue:
    """What an agent does and has done.

    Attributes:
        failed_stops: stops that failed while the node goes down.
    """

    def __init__(self, node: str) -> None:
        self._node = node
        self._jobs: dict[str, Job] = {}
        # Orders that are done, by resource: the same order is not done twice, or the leader could miss a failure.
        self._done: dict[str, int] = {}
        self._unreported: list[tuple[Job, int]] = []
        self._starts: dict[str, int] = {}
        self.failed_stops = 0

    def add(self, job: Job) -> None:
        """Queues a job, in place of one for the same resource that has not begun."""
        self._jobs[job.resource] = job

    def add_orders(self, batch: Batch, view: NodeView) -> None:
        """Queues what the leader orders for the resources of this node."""
        assert batch.state is not None  # noqa: S101 - agents decide on a working copy
        for resource in [name for name in self._starts if name not in batch.state.resources]:
            del self._starts[resource]
        for order in view.orders:
            if order.state in _NOTHING_TO_DO:
                continue
            if order.state != "stopped" and (order.ended or self._done.get(order.resource) == order.number):
                continue
            job = Job(
                *(order.resource, order.number, order.state, order.target, order.timeout),
                arrived=order.arrived,
                retry=order.retry,
            )
            if order.given_up:
                self._give_up(batch, job)
            elif order.not_before is None or order.not_before <= batch.at:
                self.add(job)

    def _give_up(self, batch: Batch, job: Job) -> None:
        """Leaves a service that ended too often here to the leader."""
        assert job.number is not None  # noqa: S101 - it comes from an order
        self._jobs.pop(job.resource, None)
        batch.emit("job.gave_up", job.resource, attempts=max(0, job.retry - 1))
        self._done[job.resource] = job.number
        self._unreported.append((job, ERROR))

    def run(self, batch: Batch, port: AgentPort, view: NodeView) -> int:
        """Does queued jobs, those that waited longest first; returns how many are left."""
        for job in sorted(self._jobs.values(), key=lambda job: (-job.tries, job.resource)):
            job.tries += 1
            exit_code = port.run(job, batch)
            if exit_code is not None:
                del self._jobs[job.resource]
                self._finish(batch, job, exit_code, view)
        return len(self._jobs)

    def _finish(self, batch: Batch, job: Job, exit_code: int, view: NodeView) -> None:
        if exit_code == CRASHED:
            batch.emit("job.crashed", job.resource)
        if job.number is None:
            if exit_code != SUCCESS:
                self.failed_stops += 1
            return
        if job.state == "started":
            exit_code = self._restart_policy(batch, job, exit_code)
        if exit_code == TRY_AGAIN:
            return
        orders = {order.resource: order for order in view.orders}
        if not _says_nothing(job, exit_code, orders.get(job.resource)):
            self._done[job.resource] = job.number
            if job.state in _REPORTED:
                self._unreported.append((job, exit_code))
        for resource in [name for name in self._done if name not in orders]:
            del self._done[resource]

    def _restart_policy(self, batch: Batch, job: Job, exit_code: int) -> int:
        """Tries a failed start again on the same node, as often as the resource's configuration says."""
        if exit_code == SUCCESS:
            self._starts[job.resource] = 0
        if exit_code != ERROR:
            return exit_code
        assert batch.state is not None  # noqa: S101 - agents decide on a working copy
        configuration = batch.state.configurations.get(job.resource)
        allowed = 0 if configuration is None else configuration.max_restart
        tried = self._starts.get(job.resource, 0)
        if tried >= allowed:
            batch.emit("job.gave_up", job.resource, attempts=tried)
            self._starts[job.resource] = 0
            return ERROR
        self._starts[job.resource] = tried + 1
        batch.emit("job.retrying", job.resource, attempt=tried + 1)
        return TRY_AGAIN

    def report(self, batch: Batch) -> None:
        """Reports the results that nobody knows yet."""
        for job, exit_code in self._unreported:
            batch.emit(
                "job.done",
                job.resource,
                about=f"{job.state}, exit code {exit_code}",
                cause=f"job/{job.resource}/{job.number}",
                job=job.number,
                state=job.state,
                exit_code=exit_code,
            )
        self._unreported.clear()


def _says_nothing(job: Job, exit_code: int, order: Order | None) -> bool:
    """A check that found a resource running, which the leader knows already, is no news; it is done every round."""
    return job.state == "started" and exit_code == SUCCESS and order is not None and order.known_running
