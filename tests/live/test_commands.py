"""What operators may ask of a running cluster, and what becomes of it."""

import asyncio
import json

import pytest

from haes.live.outcome import End
from haes.live.requests import KIND, send_request
from tests.live.world import World


async def test_motions_are_followed_to_their_end(world: World) -> None:
    """A motion is done when the resource runs on its target, and says who asked for it."""
    await world.all()
    outcome = await world.command("migrate", "vm:1", "node3")
    assert (outcome.end, outcome.text) == (End.DONE, "vm:1 is on node3")
    [received] = [event for event in await world.events() if event.type == "command.received"]
    assert (received.payload["user"], received.payload["text"]) == ("eve", "migrate vm:1 node3")
    moved = next(event for event in await world.events() if event.type == "resource.migrate")
    assert moved.cause == "command/1"


@pytest.mark.parametrize(
    ("verb", "arguments", "text"),
    [
        ("migrate", ["vm:9", "node2"], "there is no resource 'vm:9' in this cluster"),
        ("migrate", ["vm:1", "node9"], "there is no node 'node9'; known are node1, node2, node3"),
        ("migrate", ["vm:1"], "the leader does not understand it: migrate vm:1"),
        ("stop", ["vm:1", "soon"], "the leader does not understand it: stop vm:1 soon"),
        ("explode", [], "the leader does not understand it: explode"),
        ("configure", ["vm:1", "{"], "'{' is no JSON"),
        ("configure", ["vm:1", '{"color": 7}'], "vm:1: unknown key 'color'; known are"),
        ("configure", ["vm:1", '{"node": "node2"}'], "vm:1: 'node' changes by migrate or relocate"),
        ("configure", ["x", '{"node": "node2"}'], "x: 'x' is no resource id; expected KIND:NAME"),
        ("configure", ["process:x", '{"node": "node2"}'], "process:x: 'command' is missing"),
        ("unconfigure", ["vm:9"], "there is no resource 'vm:9' in this cluster"),
        (
            "change-settings",
            ['{"crs": {"ha": "chaotic"}}'],
            "settings: setting 'ha' cannot be 'chaotic'",
        ),
        ("change-rules", ["node-affinity: pin\n\tresources vm:1\n\tnodes nodeX\n"], "in rule 'pin' is not a node"),
        ("remove-node", ["node1"], "node 'node1' still has vm:1"),
        ("remove-node", ["node3"], "node 'node3' is online; stop its agent first"),
        ("confirm-fenced", ["node1"], "node 'node1' is online"),
        ("add-node", ["no node"], "'no node' is no name of a node"),
    ],
)
async def test_what_is_not_allowed_is_refused_with_the_reason(
    world: World, verb: str, arguments: list[str], text: str
) -> None:
    """Whatever is wrong with a request, its user is told in words and the cluster goes on as it was."""
    await world.all()
    before = (await world.state()).to_data()
    outcome = await world.command(verb, *arguments)
    assert outcome.end is End.REJECTED
    assert text in outcome.text
    after = (await world.state()).to_data()
    assert (after["configurations"], after["settings"]) == (before["configurations"], before["settings"])


async def test_resources_come_and_go_by_command(world: World) -> None:
    """A resource is added, started, stopped, changed and removed; where it runs follows."""
    await world.all()
    assert (await world.command("configure", "vm:7", '{"node": "node3"}')).end is End.TAKEN
    await world.until(lambda state: "vm:7" in state.resources and state.resources["vm:7"].running, "it runs")
    await world.command("configure", "vm:7", '{"state": "stopped", "max_restart": 5, "memory": "2 GiB"}')
    state = await world.until(lambda state: state.resources["vm:7"].state == "stopped", "it is stopped")
    assert state.configurations["vm:7"].max_restart == 5
    assert state.configurations["vm:7"].limits == {"memory": 2 * 1024**3}
    await world.command("unconfigure", "vm:7")
    await world.until(lambda state: "vm:7" not in state.resources, "it is gone")


async def test_what_was_removed_does_not_run_on(world: World) -> None:
    """A service that nobody configures any more is stopped where it ran, and that is on record."""
    await world.all()
    await world.command("unconfigure", "vm:3")
    await world.until(lambda state: state.versions.get("vm:3", 0) > 0 and "vm:3" not in state.resources, "it is gone")
    await world.until(lambda _state: "vm:3" not in (world.folder / "node2.json").read_text(), "it is stopped")
    stopped = [event for event in await world.events() if event.type == "resource.stray_stopped"]
    assert [(event.subject, event.payload["because"]) for event in stopped] == [("vm:3", "it is not configured")]


async def test_settings_and_rules_are_changed_and_used(world: World) -> None:
    """Values are set and taken back one by one; a rule takes effect at once."""
    await world.all()
    await world.command("change-settings", '{"crs": {"ha": "dynamic", "ha-auto-rebalance": 1}}')
    await world.command("change-settings", '{"crs": {"ha-auto-rebalance": null}}')
    assert (await world.state()).settings == {"crs": {"ha-motion-backoff": "time", "ha": "dynamic"}}
    rule = "node-affinity: pin\n\tresources vm:3\n\tnodes node3\n\tstrict 1\n"
    assert (await world.command("change-rules", rule)).end is End.DONE
    await world.until(
        lambda state: state.resources["vm:3"].node == "node3" and state.resources["vm:3"].running, "it moved"
    )


async def test_a_node_is_emptied_for_maintenance_and_filled_again(world: World) -> None:
    """In maintenance a node's services leave; afterwards they come back."""
    await world.all()
    await world.command("enable-node-maintenance", "node1")
    await world.until(
        lambda state: all(record.node != "node1" for record in state.resources.values()) and world.at_rest(state),
        "the node is empty",
    )
    await world.command("disable-node-maintenance", "node1")
    await world.until(lambda state: state.resources["vm:1"].node == "node1" and world.at_rest(state), "they are back")


async def test_a_cluster_is_disarmed_and_armed(world: World) -> None:
    """Disarmed, nothing is watched and nothing stops; armed again, everything is as before."""
    await world.all()
    await world.command("disarm-ha", "freeze")
    await world.until(lambda state: state.disarm is not None and state.disarm.state == "disarmed", "it is disarmed")
    assert "vm:1" in (world.folder / "node1.json").read_text()
    await world.command("arm-ha")
    await world.until(lambda state: state.disarm is None and world.at_rest(state), "it is armed")
    assert not [event for event in await world.events() if event.type in {"job.stopped", "node.watchdog_fired"}]


async def test_requests_of_many_users_are_served_once_each(world: World) -> None:
    """Requests are taken over in order, each once, whoever leads; what is on the record leaves the users' streams."""
    await world.begin()
    for number in range(30):
        await send_request(world.log.side, f"user{number % 3}", "explode", [str(number)])
    first = world.manager("node1")
    await world.until(lambda state: state.command_count >= 30, "all are on record")
    assert first.leads
    world.manager("node2")
    await world.leave("manager node1")
    await world.command("explode", "last")
    received = [event for event in await world.events() if event.type == "command.received"]
    assert [event.payload["arguments"][0] for event in received] == [*map(str, range(30)), "last"]
    names = dict.fromkeys(await world.log.side.names(KIND), "0-0")
    async with asyncio.timeout(10):
        while await world.log.side.read(names):
            await asyncio.sleep(0.02)


async def test_a_settings_change_is_a_json_object(world: World) -> None:
    """Settings that are no object of sections are refused, whatever else they are."""
    await world.all()
    for text in ("[]", '{"crs": 1}', '{"moon": {}}', json.dumps("crs")):
        assert (await world.command("change-settings", text)).end is End.REJECTED
