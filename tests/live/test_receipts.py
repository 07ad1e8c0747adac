"""What a user asked for is on the record or still in his stream, whatever happens to leaders in between."""

from events.log.memory import MemoryLog
from events.log.side import START_ID
from haes.live.outcome import End
from haes.live.requests import KIND, forget_received, send_request
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from tests.live.world import World


async def test_a_request_outlives_the_loss_of_the_leaders_lease(world: World) -> None:
    """A request that a manager has read when its lease is over is carried out by whoever leads next."""
    await world.begin()
    leader = world.manager("node1")
    for node in world.nodes:
        world.agent(node)
    await world.until(world.at_rest, "everything runs")
    leader._leader.forget()
    outcome = await world.command("relocate", "vm:1", "node3")
    assert (outcome.end, outcome.text) == (End.DONE, "vm:1 is on node3")


async def test_only_what_the_log_shows_as_received_is_removed() -> None:
    """Requests go up to the last one whose receipt was read back from the log, also those that a failure left behind."""
    log = MemoryLog("main")
    ids = [await send_request(log.side, "eve", "arm-ha", []) for _ in range(3)]
    state = ClusterState()
    await forget_received(log.side, state)
    assert len((await log.side.read({f"{KIND}:eve": START_ID}))[f"{KIND}:eve"]) == len(ids)
    batch = Batch(state, "node1/crm", 1.0)
    text = {"verb": "arm-ha", "arguments": [], "text": "arm-ha", "user": "eve"}
    batch.emit("command.received", "commands", id=2, request=ids[1], **text)
    await forget_received(log.side, state)
    [left] = (await log.side.read({f"{KIND}:eve": START_ID}))[f"{KIND}:eve"]
    assert left.id == ids[2]
