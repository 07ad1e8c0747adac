"""What nodes and resources have and use, and which of such numbers can be reckoned with; knows no cluster."""

from dataclasses import dataclass

# Numbers from here on are no cores and no bytes of any machine (8 EiB); sums and squares of smaller ones stay finite.
TOO_LARGE = 2.0**63


def is_reckonable(value: float) -> bool:
    """Returns whether a number can be reckoned with: neither negative, nor NaN, nor beyond any machine."""
    return 0 <= value < TOO_LARGE


@dataclass(slots=True, frozen=True)
class NodeStats:
    """Capacity and use of a node: cpu in cores, memory in bytes."""

    maxcpu: float
    maxmem: float
    cpu: float
    mem: float

    def load(self) -> float:
        """Returns the mean of the cpu share and the memory share."""
        return (self.cpu / self.maxcpu + self.mem / self.maxmem) / 2.0

    def problem(self) -> str | None:
        """Returns the name of the first number that cannot be reckoned with, or None; capacities count whole units."""
        if not 1 <= self.maxcpu < TOO_LARGE:
            return "maxcpu"
        if not 1 <= self.maxmem < TOO_LARGE:
            return "maxmem"
        if not 0 <= self.cpu < TOO_LARGE:
            return "cpu"
        return None if 0 <= self.mem < TOO_LARGE else "mem"


@dataclass(slots=True, frozen=True)
class ResourceStats:
    """What a resource uses now, and at most: cpu in cores (0 at most: no limit), memory in bytes."""

    cpu: float
    mem: float
    maxcpu: float
    maxmem: float

    def problem(self) -> str | None:
        """Returns the name of the first number that cannot be reckoned with, or None."""
        if not 0 <= self.cpu < TOO_LARGE:
            return "cpu"
        if not 0 <= self.mem < TOO_LARGE:
            return "mem"
        if not 0 <= self.maxcpu < TOO_LARGE:
            return "maxcpu"
        return None if 0 <= self.maxmem < TOO_LARGE else "maxmem"
