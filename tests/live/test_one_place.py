"""No service runs on two nodes, whatever operators ask for, by what the nodes themselves say."""

import asyncio

from haes.live.outcome import End
from haes.live.requests import send_request
from tests.live.world import LIMIT, World


async def _watch(world: World, resource: str, seen: list[list[str]]) -> None:
    """Looks again and again on which nodes a service runs."""
    while True:
        files = {node: world.folder / f"{node}.json" for node in world.nodes}
        places = [node for node, file in files.items() if file.exists() and resource in file.read_text()]
        if not seen or seen[-1] != places:
            seen.append(places)
        await asyncio.sleep(0.01)


async def test_a_service_is_not_known_elsewhere_before_it_has_stopped(world: World) -> None:
    """A service that is removed and added elsewhere while nobody leads is refused there until it has stopped."""
    await world.all()
    seen: list[list[str]] = []
    watcher = asyncio.create_task(_watch(world, "vm:3", seen))
    for node in ("node1", "node2"):
        await world.leave(f"manager {node}")
    await send_request(world.log.side, "eve", "unconfigure", ["vm:3"])
    await send_request(world.log.side, "eve", "configure", ["vm:3", '{"node": "node1"}'])
    world.manager("node1")
    await world.until(lambda state: state.command_count >= 2 and not state.commands, "both are answered")
    async with asyncio.timeout(LIMIT):
        while (await world.command("configure", "vm:3", '{"node": "node1"}')).end is End.REJECTED:
            await asyncio.sleep(0.1)
    state = await world.until(
        lambda state: "vm:3" in state.resources and state.resources["vm:3"].running, "it runs again"
    )
    watcher.cancel()
    assert state.resources["vm:3"].node == "node1"
    assert max(map(len, seen)) == 1, seen
    assert seen[-1] == ["node1"]
