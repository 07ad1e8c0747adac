"""The simulated log keeps the promises of the port, so that what holds in the simulator holds on a server."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.cluster_simulator.loop import SimulatedLoop
from tests.cluster_simulator.server import Link, Server, SimulatedLog
from tests.events.contract import LogContract
from tests.events.hands import MemoryHands


class SimulatedHands(MemoryHands):
    """Meddles with what the simulated server keeps, while the test goes through a link to it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.log = server.log
        self.client = SimulatedLog(Link(server))

    async def advance(self, seconds: float) -> None:
        """See Hands."""
        self.server.clock_offset += seconds

    async def set_back(self, seconds: float) -> None:
        """See Hands."""
        await self.log.now()
        self.server.clock_offset -= seconds


class _Front:
    """Hands whose log is the client, and that meddle behind its back."""

    def __init__(self, hands: SimulatedHands) -> None:
        self._hands = hands
        self.log = hands.client

    def __getattr__(self, name: str) -> object:
        return getattr(self._hands, name)


_Test = Callable[[object, _Front], Coroutine[Any, Any, None]]
PROMISES = {name: getattr(LogContract, name) for name in dir(LogContract) if name.startswith("test_")}


@pytest.mark.parametrize("test", PROMISES.values(), ids=PROMISES.keys())
def test_the_simulated_log_keeps_its_promise(test: _Test) -> None:
    """What every log promises, the simulated one does too, with every request on its way for a while."""
    loop = SimulatedLoop(1)

    async def run() -> None:
        hands = SimulatedHands(Server(loop, "test", 1000.0))
        await hands.client.open()
        await test(LogContract(), _Front(hands))

    loop.run_until_complete(loop.create_task(run()))
    loop.bury()
