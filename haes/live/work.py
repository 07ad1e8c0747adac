"""The jobs of a live agent: each in a thread, its facts collected as they come, its exit code when it ends.

Decides nothing: what a job is and what follows from its end is the core's. A batch that was not appended is not lost:
its facts are offered again until `settle`.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from haes.agent.execution import Job, execute
from haes.drivers.port import Driver
from haes.drivers.process.client import KeeperError
from haes.exit_codes import CRASHED, SUCCESS, TRY_AGAIN
from haes.state.batch import Batch
from haes.state.cluster import ClusterState

_log = logging.getLogger(__name__)

# Jobs that a node does at once: enough that one slow stop does not hold up the others, few enough not to crush a node
# on which a hundred services start.
WORKERS = 8

_STOPPED = frozenset({"stopped", "request_stop"})


@dataclass(slots=True)
class _Running:
    """A job on its way: its order, the facts so far, how many of them are on record, and whether it must not begin."""

    order: tuple[int | None, str]
    future: "asyncio.Future[int]"
    facts: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    recorded: int = 0
    void: threading.Event = field(default_factory=threading.Event)


class Work:
    """The jobs of one node."""

    def __init__(self, node: str, driver: Driver, on_done: Callable[[], None]) -> None:
        """Begins with no job.

        Args:
            node: the node.
            driver: does the work.
            on_done: called in the event loop when a job has ended.
        """
        self._node = node
        self._driver = driver
        self._on_done = on_done
        self._running: dict[str, _Running] = {}
        self._offered: dict[str, int] = {}
        self._ended: set[str] = set()
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix=f"jobs of {node}")

    def step(self, job: Job, batch: Batch, state: ClusterState, services: Mapping[str, bool]) -> int | None:
        """Begins a job or looks after it; returns its exit code when it has ended.

        Args:
            job: the job.
            batch: takes the facts that are not on the record yet.
            state: the state that the order came from.
            services: service -> whether it is well, as looked up for this round.
        """
        order = (job.number, job.state)
        running = self._running.get(job.resource)
        if running is None:
            if self._nothing_to_do(job, services):
                return SUCCESS
            self._begin(job, order, state)
            return None
        self._offer(job, running, batch)
        if not running.future.done():
            if running.order != order:
                self._driver.interrupt(job.resource)
            return None
        self._ended.add(job.resource)
        if running.order != order:
            # The order was replaced meanwhile; what came of it says nothing about the new one.
            return None
        return running.future.result()

    def is_busy(self, resource: str) -> bool:
        """Returns whether a job of a resource is under way."""
        return resource in self._running

    def settle(self) -> None:
        """The batch is on the record: what it held need not be offered again."""
        for resource, recorded in self._offered.items():
            self._running[resource].recorded = recorded
        for resource in self._ended:
            del self._running[resource]
        self.forget_offers()

    def forget_offers(self) -> None:
        """The batch came to nothing: what it held is offered again."""
        self._offered.clear()
        self._ended.clear()

    def void(self) -> None:
        """Lets no job begin that was ordered up to now: the right under which it was ordered is over.

        The keeper would take it for one of the right that the agent has by then.
        """
        for running in self._running.values():
            running.void.set()

    def close(self) -> None:
        """Begins nothing more; what is on its way goes on to its end without anybody who waits for it."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _nothing_to_do(self, job: Job, services: Mapping[str, bool]) -> bool:
        """Most orders are fulfilled already, round after round: no thread is needed to see that."""
        if job.state == "started":
            return services.get(job.resource, False)
        return job.state in _STOPPED and job.resource not in services

    def _begin(self, job: Job, order: tuple[int | None, str], state: ClusterState) -> None:
        facts: list[tuple[str, dict[str, Any]]] = []

        def emit(type_: str, **payload: Any) -> None:
            facts.append((type_, payload))

        configuration = state.configurations.get(job.resource)
        work = Job(
            *(job.resource, job.number, job.state, job.target, job.timeout), arrived=job.arrived, retry=job.retry
        )

        void = threading.Event()

        def do() -> int:
            if void.is_set():
                return TRY_AGAIN
            try:
                return execute(work, configuration, self._node, self._driver, emit)
            except KeeperError as error:
                # Nothing was found out about the resource; the agent has its own ways of mending this.
                _log.error("job %s of %s is tried again: %s", work.state, work.resource, error)
                return TRY_AGAIN
            except Exception:  # noqa: BLE001 - whatever a driver raises is the job's end, not the agent's
                _log.exception("job %s of %s crashed", work.state, work.resource)
                return CRASHED

        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._pool, do)
        future.add_done_callback(lambda _: self._on_done())
        self._running[job.resource] = _Running(order, future, facts, void=void)

    def _offer(self, job: Job, running: _Running, batch: Batch) -> None:
        facts = running.facts[running.recorded :]
        for type_, payload in facts:
            batch.emit(type_, job.resource, cause=f"job/{job.resource}/{running.order[0]}", **payload)
        self._offered[job.resource] = running.recorded + len(facts)
