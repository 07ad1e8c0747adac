"""How much of the machine services use: processor time and memory of all their processes, and of the machine itself."""

import time
from collections.abc import Mapping
from contextlib import suppress

import psutil


class LoadMeter:
    """Measures since it last measured; the first measurement of a service says 0 cores."""

    def __init__(self) -> None:
        # process id and its start time -> seconds of processor time at the last look
        self._spent: dict[tuple[int, float], float] = {}
        self._looked_at = time.monotonic()

    def measure(self, services: Mapping[str, int]) -> dict[str, tuple[float, int]]:
        """Returns service -> (cores, bytes) in use.

        Args:
            services: service -> its first process.
        """
        now = time.monotonic()
        elapsed = max(now - self._looked_at, 1e-3)
        self._looked_at = now
        spent: dict[tuple[int, float], float] = {}
        loads = {}
        for name, pid in services.items():
            used, memory = 0.0, 0
            for process in _family(pid):
                with suppress(psutil.Error), process.oneshot():
                    key = (process.pid, process.create_time())
                    times = process.cpu_times()
                    spent[key] = times.user + times.system
                    used += max(0.0, spent[key] - self._spent.get(key, spent[key]))
                    memory += process.memory_info().rss
            loads[name] = (used / elapsed, memory)
        self._spent = spent
        return loads


def _family(pid: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def machine_size() -> tuple[float, int]:
    """Returns (cores, bytes of memory) of this machine."""
    return float(psutil.cpu_count() or 1), int(psutil.virtual_memory().total)


def machine_load() -> tuple[float, int]:
    """Returns (cores, bytes) in use on this machine; cores since this was last asked."""
    share: float = psutil.cpu_percent(None) / 100
    memory = psutil.virtual_memory()
    return share * machine_size()[0], int(memory.total - memory.available)
