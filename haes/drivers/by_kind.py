"""One driver made of several: each resource goes to the one that knows its kind. Knows no kind itself."""

from collections.abc import Sequence

from haes.drivers.port import Driver, Emit, Trouble


class DriverByKind:
    """See Driver."""

    balances = False

    def __init__(self, drivers: Sequence[Driver]) -> None:
        self._by_kind = {kind: driver for driver in drivers for kind in driver.kinds}
        self.kinds = frozenset(self._by_kind)

    def running(self, resource: str) -> bool:
        """See Driver."""
        return self._driver(resource).running(resource)

    def start(self, resource: str, emit: Emit) -> None:
        """See Driver."""
        self._driver(resource).start(resource, emit)

    def tells_ends(self, resource: str) -> bool:
        """See Driver."""
        return self._driver(resource).tells_ends(resource)

    def interrupt(self, resource: str) -> None:
        """See Driver."""
        self._driver(resource).interrupt(resource)

    def stop(self, resource: str, timeout: int | None, emit: Emit) -> None:
        """See Driver."""
        self._driver(resource).stop(resource, timeout, emit)

    def move(self, resource: str, target: str, emit: Emit, *, live: bool) -> bool | Trouble:
        """See Driver."""
        return self._driver(resource).move(resource, target, emit, live=live)

    def preflight(self, resource: str, target: str) -> Sequence[str]:
        """See Driver."""
        return self._driver(resource).preflight(resource, target)

    def _driver(self, resource: str) -> Driver:
        return self._by_kind[resource.partition(":")[0]]
