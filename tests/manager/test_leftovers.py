"""Where a resource may run although it is not to is on the state, and nothing is started while it may."""

from events.envelope import Event
from haes.manager.inputs import Claim, Loads, RoundInputs
from haes.manager.round import Leader
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.fold import fold
from haes.state.snapshot import decode_state, encode_state

NODES = ("node1", "node2")


def _round(state: ClusterState, at: float) -> ClusterState:
    batch = Batch(state.working_copy(), "node1/crm", at)
    inputs = RoundInputs(
        at=at,
        node="node1",
        online=dict.fromkeys(NODES, True),
        quorate=True,
        claim_agent=lambda _: Claim.REFUSED,
        loads=Loads,
        outside=True,
    )
    Leader().manage(batch, inputs)
    return fold(batch.events, state)


def _say(state: ClusterState, type_: str, subject: str, /, **payload: object) -> ClusterState:
    return fold([Event(type_, subject, "test", state.at + 1, payload)], state)


def _in_error_elsewhere() -> ClusterState:
    """Returns a cluster whose vm:1 belongs to node1 and came into error on node2."""
    state = ClusterState()
    for node in NODES:
        _say(state, "node.added", node)
    _say(state, "resource.configured", "vm:1", changes={"node": "node2", "state": "started"})
    _round(state, 10)
    _say(state, "job.done", "vm:1", job=state.resources["vm:1"].job, state="started", exit_code=7)
    _round(state, 20)
    assert state.resources["vm:1"].state == "error"
    return _say(state, "resource.configured", "vm:1", changes={"node": "node1", "state": "disabled"})


def test_what_was_in_error_elsewhere_is_started_only_once_that_node_is_clear() -> None:
    """From error over disabled to started: nothing starts before the agent where it was says that it is not there."""
    state = _round(_in_error_elsewhere(), 30)
    assert state.resources["vm:1"].state == "stopped"
    assert state.leftovers == {"vm:1": {"node2"}}
    _say(state, "resource.configured", "vm:1", changes={"state": "started"})
    _round(state, 40)
    assert state.resources["vm:1"].state == "stopped"
    _say(state, "resource.stray_stopped", "vm:1", node="node2", because="it does not belong here any more")
    _round(state, 50)
    assert (state.resources["vm:1"].state, state.resources["vm:1"].node) == ("started", "node1")


def test_a_node_is_clear_by_every_proof() -> None:
    """An agent that begins and says what runs, a node proven dead, vouched for or removed: each clears it."""
    for type_, payload in (
        ("agent.connected", {"running": [], "version": "1", "host": "h"}),
        ("node.fenced", {}),
        ("node.fence_confirmed", {"command": 1}),
        ("node.removed", {}),
    ):
        state = _round(_in_error_elsewhere(), 30)
        again = decode_state(encode_state(state))
        assert again is not None
        assert again.leftovers == {"vm:1": {"node2"}}
        assert not _say(again, type_, "node2", **payload).leftovers
    state = _round(_in_error_elsewhere(), 30)
    _say(state, "agent.connected", "node2", running=["vm:1"], version="1", host="h")
    assert state.leftovers == {"vm:1": {"node2"}}
