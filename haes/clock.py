"""The one clock by which leases are held: it counts suspended time too, and nobody can set it.

Each host has its own. Several processes of several hosts that live in one program, in a simulation, have each the clock
of their host: whatever runs in a context (`contextvars`) reads the clock that was given to that context.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar


def _machine() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=_machine)


def boottime() -> float:
    """Returns seconds since the machine started, its sleep included."""
    return _clock.get()()


def use_clock(clock: Callable[[], float]) -> None:
    """Gives the present context, and whatever is started in it, the clock of another machine."""
    _clock.set(clock)
