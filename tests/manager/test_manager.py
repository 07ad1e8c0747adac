"""What a leader does: commands, maintenance, fencing, disarming; and how a manager comes to lead."""

from dataclasses import replace

import pytest

from events.envelope import Event
from events.errors import Fenced
from events.log.port import Head, Token
from haes.manager.inputs import FENCE_DELAY, Claim, Loads, RoundInputs
from haes.manager.nodes import FORGET_DELAY
from haes.manager.round import Leader
from haes.simulation.hardware import LOCK_TIMEOUT
from haes.simulation.world import LEADER_LEASE, Host, World
from haes.state import ClusterState
from haes.state.batch import Batch
from haes.state.fold import fold
from tests.builders import apart, asked, cluster, motions, tell, together

QUIET = {"ha": "basic", "ha-auto-rebalance": 0}
THREE = {"vm:101": {"node": 1}, "vm:102": {"node": 2}, "vm:103": {"node": 3}}


@pytest.mark.parametrize(
    ("command", "kind", "reason"),
    [
        ("service vm:999 migrate node2", "rejected", "no_such_resource"),
        ("service vm:101 migrate node9", "rejected", "node_not_online"),
        ("service vm:101 migrate node1", "ignored", "already_there"),
        ("service vm:101 relocate node2", "rejected", "negative_affinity"),
        ("service vm:999 stop 10", "rejected", "no_such_resource"),
        ("crm node2 arm-ha", "ignored", "not_disarmed"),
    ],
)
async def test_a_command_that_makes_no_sense_is_answered(command: str, kind: str, reason: str) -> None:
    """Every command is answered once with a reason, waits no longer, and changes nothing."""
    scenario = cluster(THREE, crs=QUIET, rules=apart("vm:101", "vm:102"), steps=[[command]])
    story = await tell(scenario)
    (answer,) = story.of("command.")[1:]
    assert (answer.type, answer.payload["reason"]) == (f"command.{kind}", reason)
    assert answer.cause == f"command/{answer.payload['id']}"
    assert not story.state.commands
    assert not story.of("resource.motion_queued", "resource.stop_queued")


async def test_an_unknown_command_is_rejected() -> None:
    """What the leader does not understand does not wait for ever."""
    story = await tell(cluster(THREE, crs=QUIET), asked(100, "dance", "vm:101"))
    assert [event.payload["reason"] for event in story.of("command.rejected")] == ["unknown"]
    assert not story.state.commands


async def test_a_command_reaches_all_that_must_stay_together() -> None:
    """A motion that an operator asks for moves every resource of the bundle, each as an event of that command."""
    resources = {**THREE, "vm:102": {"node": 1}}
    scenario = cluster(
        resources, crs=QUIET, rules=together("vm:101", "vm:102"), steps=[["service vm:101 migrate node3"]]
    )
    story = await tell(scenario)
    assert {event.subject: event.payload["origin"] for event in story.of("resource.motion_queued")} == {
        "vm:101": "command/1",
        "vm:102": "command/1",
    }
    assert {story.state.resources[name].node for name in ("vm:101", "vm:102")} == {"node3"}


async def test_a_motion_that_can_never_begin_is_dropped() -> None:
    """A bundle member in error cannot use its motion, which goes in the next round instead of waiting for ever."""
    resources = {"fa:190": {"node": 1, "max_restart": 0, "max_relocate": 0}, "vm:102": {"node": 1}}
    scenario = cluster(
        resources, crs=QUIET, rules=together("fa:190", "vm:102"), steps=[["service vm:102 migrate node3"]]
    )
    story = await tell(scenario)
    (dropped,) = story.of("resource.request_dropped")
    assert (dropped.subject, dropped.payload["reason"], dropped.payload["target"]) == ("fa:190", "unusable", "node3")
    assert story.state.resources["fa:190"].state == "error"
    assert story.state.resources["fa:190"].request is None
    assert not story.of("balance.")


async def test_a_quiet_cluster_says_nothing() -> None:
    """Rounds in which nothing changes append nothing, however long they go on."""
    story = await tell(cluster(THREE, crs=QUIET, rounds=30))
    begun = max(event.at for event in story.events if event.type == "job.running")
    assert {event.type for event in story.events if event.at > begun + 40} == {"simulation.ended"}


async def test_resources_leave_a_node_in_maintenance_and_come_back() -> None:
    """A resource that moved away for maintenance returns when its node does."""
    steps = [["crm node2 enable-node-maintenance"], [], [], ["crm node2 disable-node-maintenance"]]
    story = await tell(cluster(THREE, crs=QUIET, steps=steps))
    moves = [(event.at, event.payload["target"]) for event in story.of("job.moved") if event.subject == "vm:102"]
    assert len(moves) == 2
    assert moves[0][1] != "node2"
    assert moves[1][1] == "node2"
    assert story.state.resources["vm:102"].maintenance_node is None
    assert story.state.nodes["node2"] == "online"


async def test_nothing_is_recovered_before_its_node_is_proven_off() -> None:
    """The resources of a lost node start elsewhere only after the lock of its agent has run out."""
    story = await tell(cluster(THREE, crs=QUIET, steps=[["power node2 off"]]))
    lost = next(event.at for event in story.of("node.killed"))
    (fenced,) = story.of("node.fenced")
    (recovered,) = story.of("resource.recovered")
    assert fenced.subject == "node2"
    assert fenced.at - lost > FENCE_DELAY
    # The agent renewed its lock a round before it was lost.
    assert fenced.at - lost > LOCK_TIMEOUT - 20
    assert recovered.subject == "vm:102"
    assert recovered.n > fenced.n
    started = [event for event in story.of("job.running") if event.subject == "vm:102"]
    assert started[-1].n > fenced.n


@pytest.mark.parametrize("mode", ["freeze", "ignore"])
async def test_a_disarmed_cluster_touches_nothing_until_it_is_armed(mode: str) -> None:
    """While HA is out of action no job is done and no node is fenced, not even one that loses its power."""
    steps = [[f"crm node1 disarm-ha {mode}"], [], ["power node3 off"], [], [], ["crm node1 arm-ha"]]
    story = await tell(cluster(THREE, crs=QUIET, steps=steps))
    (completed,) = story.of("disarm.completed")
    (armed,) = story.of("arm.requested")
    between = [event for event in story.events if completed.n < event.n < armed.n]
    assert not [event for event in between if event.type.startswith(("job.", "node.fence"))]
    assert story.state.disarm is None
    assert {story.state.resources[name].state for name in ("vm:101", "vm:102")} == {"started"}
    assert not story.of("job.stopping")


async def test_a_new_leader_takes_over_when_the_old_one_is_lost() -> None:
    """A standby leads after the leader's lock has run out, and goes on with the same state."""
    story = await tell(cluster(THREE, crs=QUIET, steps=[["power node1 off"]]))
    first, second = story.of("leader.elected")
    assert first.payload["node"] == "node1"
    assert second.payload["node"] in {"node2", "node3"}
    assert second.at - first.at > LOCK_TIMEOUT
    assert second.epoch > first.epoch
    assert story.state.leader == second.payload["node"]
    assert story.state.resources["vm:101"].node != "node1"


async def test_every_leader_writes_under_an_epoch_of_its_own() -> None:
    """What leaders decide carries their epoch: it rises with each election and never falls back."""
    story = await tell(cluster(THREE, steps=[["power node1 off"]]))
    decided = [event for event in story.of("resource.", "balance.") if event.by.endswith("/crm") and not event.late]
    epochs = [event.epoch for event in decided]
    assert epochs == sorted(epochs)
    by_epoch = {event.epoch: {other.by for other in decided if other.epoch == event.epoch} for event in decided}
    assert len(by_epoch) == 2
    assert all(len(authors) == 1 for authors in by_epoch.values())


async def test_a_deposed_leader_cannot_write() -> None:
    """While the new leader leads, an append with the old one's token is refused and leaves nothing."""
    tokens: list[Token] = []
    heads: list[tuple[Head, Head]] = []

    def watch(world: World) -> None:
        on_event, agent_round = world.on_event, world.agent_round

        def keep(event: Event) -> None:
            on_event(event)
            if event.type == "leader.elected":
                tokens.append(world._tokens[LEADER_LEASE])

        async def try_old(host: Host) -> bool:
            if len(tokens) == 2:
                before = await world.log.head()
                forged = Event("resource.started", "vm:101", "node1/crm", world.now, {"previous": "fence"})
                with pytest.raises(Fenced, match="epoch 2"):
                    await world.log.append([forged], token=tokens[0])
                heads.append((before, await world.log.head()))
            return await agent_round(host)

        world.on_event = keep
        world.agent_round = try_old  # type: ignore[method-assign]

    await tell(cluster(THREE, crs=QUIET, steps=[["power node1 off"]]), watch)
    assert heads
    assert all(before == after for before, after in heads)


async def test_a_new_leader_begins_to_count_over_the_threshold_anew() -> None:
    """The streak is the one thing that does not survive a failover: load may have changed meanwhile."""
    resources = {name: {"node": 3} for name in ("vm:101", "vm:102", "vm:103")}
    scenario = cluster(resources, crs={"ha-auto-rebalance-hold-duration": 9}, steps=[["power node1 off"]])
    story = await tell(scenario, motions())
    second = story.of("leader.elected")[1]
    motion = story.of("balance.motion")[0]
    assert motion.at - second.at >= 8 * 20


def _round(state: ClusterState, leader: Leader, at: float, online: dict[str, bool], claim: Claim) -> ClusterState:
    """Lets a leader on node1 decide one round and returns the state after it."""
    batch = Batch(state.working_copy(), "node1/crm", at)
    inputs = RoundInputs(
        at,
        "node1",
        online,
        quorate=True,
        claim_agent=lambda _node: claim,
        loads=Loads,
        previous_round_at=leader.previous_round_at,
        streak=leader.streak,
    )
    leader.manage(batch, inputs)
    return fold([replace(event, n=state.n + number) for number, event in enumerate(batch.events, 1)], state)


def _running(node: str) -> ClusterState:
    configured = {"changes": {"node": node, "state": "started"}}
    return fold([Event("resource.configured", "vm:101", "cmdlist", 0, configured, n=1)])


def test_a_node_that_left_the_cluster_is_forgotten_with_what_was_remembered_of_it() -> None:
    """An hour after it is gone, a node is removed, and the balancer's memory of it, too."""
    state, leader = _running("node1"), Leader()
    everybody = {"node1": True, "node2": True}
    state = _round(state, leader, 0, everybody, Claim.REFUSED)
    failed = {"resource": "vm:101", "target": "node2", "attempts": 3, "first_series": 9, "reason": "exit code 1"}
    fold([Event("balance.failed", "balance", "node1/crm", 1, failed, n=state.n + 1)], state)
    at = 0.0
    while state.nodes.get("node2") is not None:
        at += 10
        state = _round(state, leader, at, {"node1": True}, Claim.REFUSED)
        assert at <= FORGET_DELAY + 100
    assert at >= FORGET_DELAY
    assert not state.balance.failures
    assert not state.parked


def test_a_node_is_fenced_only_when_its_agents_lock_is_given_to_the_leader() -> None:
    """As long as the lock is refused, nothing is recovered, however long the node has been away."""
    state, leader = _running("node2"), Leader()
    for at in (0, 10, 20):
        state = _round(state, leader, at, {"node1": True, "node2": True}, Claim.REFUSED)
    assert state.resources["vm:101"].state == "started"
    for at in range(30, 2000, 10):
        state = _round(state, leader, at, {"node1": True, "node2": False}, Claim.REFUSED)
    assert (state.nodes["node2"], state.resources["vm:101"].state) == ("fence", "fence")
    state = _round(state, leader, 2000, {"node1": True, "node2": False}, Claim.NEW)
    assert (state.nodes["node2"], state.resources["vm:101"].node) == ("unknown", "node1")
    assert state.resources["vm:101"].state == "started"


def test_a_round_decides_the_same_from_the_same_state() -> None:
    """A decision depends on state and inputs alone, and leaves the state that it was made on alone."""
    state = _running("node1")
    before = state.to_data()
    batches = []
    for _ in range(2):
        batch = Batch(state.working_copy(), "node1/crm", 20)
        inputs = RoundInputs(
            20, "node1", {"node1": True}, quorate=True, claim_agent=lambda _node: Claim.NEW, loads=Loads
        )
        Leader().manage(batch, inputs)
        batches.append(batch.events)
    assert batches[0]
    assert batches[0] == batches[1]
    assert state.to_data() == before
