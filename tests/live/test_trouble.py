"""Whatever waits for a person is said by status, and stays said until a person has dealt with it."""

from events.envelope import Event
from events.log.port import LeaseInfo
from haes.live.manager import LEADER_LEASE
from haes.live.status import trouble
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event, fold
from haes.state.snapshot import decode_state, encode_state

LEADS = {LEADER_LEASE: LeaseInfo("node1/crm@host:/var", 3, 10.0)}


def _said(state: ClusterState) -> list[str]:
    return trouble(state, LEADS)


def test_a_lost_tail_is_said_until_it_is_accepted() -> None:
    """A log that lost events is trouble until an operator accepts it, however often it did, and across snapshots."""
    regressed = {"generation": 2, "lost": [[61, "resource.relocate", "vm:1"]]}
    state = fold([Event("log.regressed", "log", "node1/crm", 10, {"known_n": 70, "found_n": 60, **regressed})])
    [line] = _said(state)
    assert "10 events" in line
    assert "haes log accept-regression" in line
    apply_event(state, Event("log.regressed", "log", "node1/crm", 20, {"known_n": 90, "found_n": 75, **regressed}))
    again = decode_state(encode_state(state))
    assert again is not None
    [line] = _said(again)
    assert "25 events" in line
    apply_event(again, Event("log.accepted", "log", "operator/eve", 30, {"n": 75, "log_id": "x"}))
    assert not _said(again)


def test_a_service_that_may_run_on_a_lost_node_is_said() -> None:
    """A service that waits for a node which is away waits for a person; one whose node is there does not."""
    state = ClusterState()
    for node in ("node1", "node2"):
        state.members.add(node)
        state.nodes[node] = "online"
    state.may_run("vm:1", "node2")
    assert not _said(state)
    state.nodes["node2"] = "gone"
    assert any("vm:1 may still run on node2" in line and "confirm-fenced node2" in line for line in _said(state))
