"""An event loop on virtual time: among the processes that could go on it chooses by a seed, and nothing ever waits.

Callbacks of one process run in the order in which they became ready, as asyncio promises; between processes any order
may happen. A process can be paused and killed between any two of its callbacks, that is at every await, and then not a
line more of it runs. Knows no cluster.
"""

import asyncio
import gc
import heapq
import logging
import random
import sys
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any

from greenlet import getcurrent, greenlet

# Seconds that a callback takes: whoever spins gets through time, too, and is seen to spin.
STEP = 20e-6
# Seconds that a timer is late at most; nobody is woken to the microsecond.
LATENESS = 0.002
# Seconds that a call in a thread takes to begin, at most.
THREAD_DELAY = 0.003


class Process:
    """What lives and dies as one: a process of the cluster, or the world around them all.

    Attributes:
        name: for people.
        context: in which all of it runs; it carries the process, its clock and its source of ids.
        queue: callbacks that are ready.
        tasks: its tasks.
        paused: it does not run for now.
        dead: it never runs again.
        steps: callbacks so far.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.context = copy_context()
        self.context.run(PROCESS.set, self)
        self.queue: deque[Handle] = deque()
        self.tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self.paused = False
        self.dead = False
        self.steps = 0


PROCESS: ContextVar[Process] = ContextVar("process")


class Handle:
    """See asyncio.TimerHandle; a light one, for most of a simulation is made of them."""

    __slots__ = ("_when", "args", "callback", "context", "stopped")

    def __init__(self, callback: Callable[..., Any], args: tuple[Any, ...], context: Context, when: float) -> None:
        self.callback = callback
        self.args = args
        self.context = context
        self.stopped = False
        self._when = when

    def cancel(self) -> None:
        """See asyncio.Handle."""
        self.stopped = True
        self.callback, self.args = _nothing, ()

    def cancelled(self) -> bool:
        """See asyncio.Handle."""
        return self.stopped

    def when(self) -> float:
        """See asyncio.TimerHandle."""
        return self._when


def _nothing() -> None:
    """Takes the place of what was cancelled."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """See above.

    Attributes:
        chance: decides whatever may happen in any order.
        world: the process that everything belongs to that belongs to no other.
        faults: what no task caught.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.chance = random.Random(seed)  # noqa: S311 - it is to be repeated
        self._random = self.chance.random
        self._now = 0.0
        self._count = 0
        self._timers: list[tuple[float, int, Process, Handle]] = []
        self._runnable: list[Process] = []
        self._graves: list[Any] = []
        self.world = Process("world")
        self.faults: list[str] = []
        self.set_exception_handler(self._note_fault)

    def time(self) -> float:
        """Returns virtual seconds."""
        return self._now

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> Handle:  # type: ignore[override]
        """See AbstractEventLoop."""
        if context is None:
            context = copy_context()
        handle = Handle(callback, args, context, self._now)
        process = context.get(PROCESS, self.world)
        if not process.dead:
            queue = process.queue
            queue.append(handle)
            if len(queue) == 1 and not process.paused:
                self._runnable.append(process)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Handle:
        """See AbstractEventLoop."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> Handle:
        """See AbstractEventLoop."""
        if context is None:
            context = copy_context()
        handle = Handle(callback, args, context, when)
        self._count += 1
        process = context.get(PROCESS, self.world)
        heapq.heappush(self._timers, (when + self._random() * LATENESS, self._count, process, handle))
        return handle

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> "asyncio.Task[Any]":
        """See AbstractEventLoop."""
        task = super().create_task(coro, name=name, context=context)
        (PROCESS.get(self.world) if context is None else context.get(PROCESS, self.world)).tasks.add(task)
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":  # noqa: ARG002 - all threads are alike
        """Runs what would run in a thread in a greenlet, which may `block` for as long as it likes."""
        future = self.create_future()
        thread = greenlet(self._in_thread)
        thread.gr_context = copy_context()
        self.call_later(self._random() * THREAD_DELAY, thread.switch, future, func, args)
        return future

    def block(self, seconds: float) -> None:
        """Lets a thread sleep."""
        thread = getcurrent()
        assert thread.parent is not None, "only what runs in a thread may block"
        self.call_later(seconds, thread.switch)
        thread.parent.switch()

    @staticmethod
    def _in_thread(future: "asyncio.Future[Any]", func: Callable[..., Any], args: tuple[Any, ...]) -> None:
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - whoever waits for the thread gets it
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(result)

    def pause(self, process: Process) -> None:
        """Stops a process where it is."""
        if not process.paused and process.queue:
            self._runnable.remove(process)
        process.paused = True

    def resume(self, process: Process) -> None:
        """Lets it go on."""
        if process.paused and process.queue and not process.dead:
            self._runnable.append(process)
        process.paused = False

    def kill(self, process: Process) -> None:
        """Ends a process where it is: nothing of it runs any more, no cleaning up either."""
        if not process.dead:
            if process.queue and not process.paused:
                self._runnable.remove(process)
            process.dead = True
            for task in process.tasks:
                task._log_destroy_pending = False
                self._graves.append(task)
            self._graves.append(list(process.queue))
            process.queue.clear()

    def bury(self) -> None:
        """Lets go of everything; coroutines that are thrown away in the middle may complain, and nobody listens."""
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False
            self._graves.append(task)
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        logging.disable()
        try:
            for process in (self.world, *self._runnable):
                process.queue.clear()
            self._runnable.clear()
            self._timers.clear()
            while self._graves:
                grave = self._graves.pop()
                if isinstance(grave, asyncio.Task):
                    with suppress(RuntimeError):
                        grave.get_coro().close()
                del grave
            gc.collect()
            self.close()
        finally:
            sys.unraisablehook = hook
            logging.disable(logging.NOTSET)

    def _put(self, process: Process, handle: Handle) -> None:
        if process.dead:
            return
        process.queue.append(handle)
        if len(process.queue) == 1 and not process.paused:
            self._runnable.append(process)

    def _run_once(self) -> None:
        runnable, timers, random_ = self._runnable, self._timers, self._random
        pop = heapq.heappop
        while not self._stopping:
            if not runnable:
                if not timers:
                    raise RuntimeError("nothing is left to happen")
                self._now = max(self._now, timers[0][0])
            now = self._now
            while timers and timers[0][0] <= now:
                _, _, process, handle = pop(timers)
                if not handle.stopped:
                    self._put(process, handle)
            if not runnable:
                continue
            place = int(random_() * len(runnable)) if len(runnable) > 1 else 0
            process = runnable[place]
            handle = process.queue.popleft()
            if not process.queue:
                runnable[place] = runnable[-1]
                runnable.pop()
            self._now = now + STEP
            if not handle.stopped:
                process.steps += 1
                try:
                    handle.context.run(handle.callback, *handle.args)
                except Exception as error:  # noqa: BLE001 - nobody else would hear of it
                    self.call_exception_handler({"message": f"in {handle.callback}", "exception": error})

    def _write_to_self(self) -> None:
        """Nothing: nobody waits outside."""

    def _process_events(self, event_list: Any) -> None:
        """Nothing: there is no outside."""

    def _note_fault(self, _loop: Any, details: dict[str, Any]) -> None:
        error = details.get("exception")
        if details["message"].startswith("Future exception was never retrieved"):
            # Whoever waited for it was killed.
            return
        self.faults.append(f"{details['message']}: {error!r}")
