"""What only a leader may say is said by a leader, whatever happens between a decision and its append."""

import asyncio
from collections.abc import Mapping

import pytest

from events.errors import Fenced, LogUnavailable
from events.log.memory import MemoryLog
from events.log.port import Token
from haes.live.decision import Decision, Right
from haes.live.lease import HeldLease
from haes.live.presence import LEADER_LEASE
from haes.live.replica import Replica
from haes.live.requests import send_request
from haes.state.cluster import ClusterState
from tests.live.world import LIMIT, World


class StallingLog(MemoryLog):
    """A log on which one process can be held up, and whose leader's lease can be kept from being renewed.

    Attributes:
        stalled: the task that gets no answer when it asks for the time.
        held: set once that task waits.
        go_on: lets it go on.
        cut: the owner of the leader's lease who cannot renew it.
    """

    def __init__(self) -> None:
        super().__init__("main")
        self.stalled = ""
        self.held = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cut: Token | None = None

    async def now(self) -> float:
        """See EventLog."""
        task = asyncio.current_task()
        if task is not None and task.get_name() == self.stalled:
            self.stalled = ""
            self.held.set()
            await self.go_on.wait()
        return await super().now()

    async def renew(self, token: Token, *, ttl: float | None, note: Mapping[str, str] | None = None) -> None:
        """See EventLog."""
        if token == self.cut:
            raise LogUnavailable("the packet was lost")
        await super().renew(token, ttl=ttl, note=note)


async def test_a_deposed_leader_says_nothing_that_only_a_leader_may_say(world: World) -> None:
    """Held up between a claim and its decision until another one leads, a manager writes nothing but its own state."""
    world.log = log = StallingLog()
    await world.begin()
    first = world.manager("node1")
    for node in world.nodes:
        world.agent(node)
    await world.until(world.at_rest, "everything runs")
    log.stalled = "manager node1"
    log.cut = first._leader.token
    assert log.cut is not None
    assert log.cut.lease == LEADER_LEASE
    await send_request(log.side, "eve", "relocate", ["vm:1", "node3"])
    await asyncio.wait_for(log.held.wait(), LIMIT)
    world.manager("node2")
    await world.until(lambda state: state.leader == "node2", "node2 leads")
    elected = (await log.head()).n
    log.go_on.set()
    await world.until(lambda state: state.resources["vm:1"].node == "node3" and world.at_rest(state), "vm:1 is moved")
    await world.until(lambda state: state.managers["node1"] in {"slave", "wait_for_quorum"}, "node1 stands by")
    said = [event.type for event in (await world.events())[elected:] if event.by == "node1/crm"]
    assert said
    assert all(type_.startswith("manager.") for type_ in said), said


@pytest.mark.parametrize(
    ("lease", "type_", "payload"),
    [
        ("manager/node1", "leader.elected", {"node": "node1"}),
        ("manager/node1", "command.done", {"id": 1, "text": "x"}),
        ("manager/node1", "manager.lock_released", {}),
        ("agent/node1", "node.added", {}),
        ("agent/node1", "manager.slave", {"previous": "startup"}),
    ],
)
async def test_no_other_lease_lets_anybody_speak_for_the_leader(
    lease: str, type_: str, payload: dict[str, str]
) -> None:
    """Under a manager's or an agent's own lease nothing is appended that only a leader may say."""
    log = MemoryLog("main")
    replica = Replica(log)
    await replica.open()
    held = HeldLease(log, lease, "test", 60.0)
    assert await held.acquire()
    decision = Decision(ClusterState(), "node1/crm", 1.0, Right.of(held))
    decision.state = None
    decision.emit(type_, "node1", **payload)
    with pytest.raises(Fenced, match="no right to say"):
        await replica.append(decision)
    assert (await log.head()).n == 0


async def test_a_lease_taken_again_is_another_right() -> None:
    """What was decided under an earlier term of a lease is not appended under a later one."""
    log = MemoryLog("main")
    replica = Replica(log)
    await replica.open()
    held = HeldLease(log, LEADER_LEASE, "test", 60.0)
    assert await held.acquire()
    decision = Decision(replica.state.working_copy(), "node1/crm", 1.0, Right.of(held))
    decision.emit("node.added", "node1")
    await held.release()
    assert await held.acquire()
    with pytest.raises(Fenced):
        await replica.append(decision)
    assert (await log.head()).n == 0
