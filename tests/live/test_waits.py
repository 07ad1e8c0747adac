"""How processes wait: without spinning, saying once what they wait for, and no longer than until they are to leave."""

import asyncio
import logging
import time

import pytest

from events.errors import LogUnavailable
from events.log.memory import MemoryLog
from tests.live.world import World

# Seconds within which a process that waits for anything has left.
AT_ONCE = 1.0


class LeaselessLog(MemoryLog):
    """A log that grants and renews no lease while it is told so.

    Attributes:
        grants: whether it does.
        asked: how often somebody began to decide.
    """

    def __init__(self) -> None:
        super().__init__("main")
        self.grants = True
        self.asked = 0

    async def now(self) -> float:
        """See EventLog."""
        self.asked += 1
        return await super().now()

    async def renew(self, *arguments: object, **options: object) -> None:
        """See EventLog."""
        self._check()
        await super().renew(*arguments, **options)  # type: ignore[arg-type]

    async def acquire(self, *arguments: object, **options: object):  # type: ignore[no-untyped-def]  # noqa: ANN201
        """See EventLog."""
        self._check()
        return await super().acquire(*arguments, **options)  # type: ignore[arg-type]

    def _check(self) -> None:
        if not self.grants:
            raise LogUnavailable("no lease for anybody")


async def test_a_manager_without_a_lease_waits_quietly(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """While no lease is good a manager tries a few times a second at most and says little; then it leads again."""
    world.log = log = LeaselessLog()
    # Nothing of this manager's own node is to be fenced meanwhile.
    world.services = {"vm:3": "node2"}
    await world.begin()
    leader = world.manager("node1")
    await world.until(lambda state: state.leader == "node1", "it leads")
    log.grants = False
    async with asyncio.timeout(10):
        while leader._leader.valid() or leader.lease.valid():
            await asyncio.sleep(0.02)
    log.asked = 0
    caplog.clear()
    await asyncio.sleep(1.0)
    assert log.asked <= 10
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) <= 2
    log.grants = True
    n = (await log.head()).n
    await world.until(lambda state: state.n > n and state.managers["node1"] == "master", "it leads again")


async def test_a_manager_on_a_log_without_its_beginning_waits_and_leaves(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """On a log whose beginning is gone a manager says so once, and leaves as soon as it is asked to."""
    await world.begin()
    await world.log.trim((await world.log.head()).n - 1)
    world.manager("node1")
    await asyncio.sleep(1.2)
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1, said
    asked = time.monotonic()
    await world.leave("manager node1")
    assert time.monotonic() - asked < AT_ONCE


async def test_a_manager_whose_log_does_not_answer_leaves(world: World) -> None:
    """A process that waits for a log that takes its time leaves without its answer."""
    await world.begin()
    hangs = asyncio.Event()

    class Hanging(MemoryLog):
        async def head(self):  # type: ignore[no-untyped-def]  # noqa: ANN202
            hangs.set()
            await asyncio.Event().wait()

    world.log = Hanging("main")
    world.manager("node1")
    await asyncio.wait_for(hangs.wait(), 5)
    asked = time.monotonic()
    await world.leave("manager node1")
    assert time.monotonic() - asked < AT_ONCE
