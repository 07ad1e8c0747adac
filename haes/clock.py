"""The one clock by which leases are held: it counts suspended time too, and nobody can set it."""

import time


def boottime() -> float:
    """Returns seconds since the machine started, its sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
