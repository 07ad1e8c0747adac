"""What an agent finds running stays although an older record says otherwise; and nothing starts too soon."""

import pytest

from events.envelope import Event
from haes.live.found import Unheard, comes_here, found_here
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.records import ResourceConfiguration, ResourceRecord


def _state(record: ResourceRecord | None, wanted: str = "started") -> ClusterState:
    state = ClusterState()
    state.configurations["vm:1"] = ResourceConfiguration("node1", state=wanted)
    if record is not None:
        state.resources["vm:1"] = record
    return state


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (_state(ResourceRecord("started", "node1")), ["vm:1"]),
        (_state(None), ["vm:1"]),
        (_state(ResourceRecord("started", "node3")), []),
        (_state(ResourceRecord("request_stop", "node1")), []),
        (_state(ResourceRecord("started", "node1"), "stopped"), []),
        (ClusterState(), []),
    ],
)
def test_only_what_is_to_run_and_settled_elsewhere_is_found(state: ClusterState, found: list[str]) -> None:
    """A service that is to run, and is on record as running elsewhere or nowhere yet, is kept where it runs."""
    assert found_here(state, "node3", ["vm:1"]) == found


def test_a_service_that_is_found_is_on_record_there() -> None:
    """The record follows, the old order is void, and its node is where it is configured from then on."""
    state = _state(ResourceRecord("started", "node1", job=4))
    Batch(state, "node3/lrm", 1.0).emit("resource.found", "vm:1", node="node3")
    record = state.resources["vm:1"]
    assert (record.node, record.running, record.state, record.job) == ("node3", True, "started", 5)
    assert state.configurations["vm:1"].node == "node3"
    assert found_here(state, "node3", ["vm:1"]) == []


def test_what_is_on_its_way_here_is_not_stopped() -> None:
    """A motion whose end was lost is begun again by the record, and finds the service here already."""
    state = _state(ResourceRecord("relocate", "node1", target="node3"))
    assert comes_here(state, "node3", ["vm:1"]) == {"vm:1"}
    assert found_here(state, "node3", ["vm:1"]) == []


def test_nothing_starts_before_all_others_have_spoken() -> None:
    """It takes the word of every other agent, or the time after which what it ran was killed."""
    unheard = Unheard()
    assert not unheard.holds_off()
    unheard.begin({"node1", "node2"}, 60.0)
    for node in ("node1", "node2"):
        assert unheard.holds_off()
        unheard.see(Event("agent.connected", node, f"{node}/lrm", 1.0, {}))
    assert not unheard.holds_off()
    unheard.begin({"node1"}, 0.0)
    assert not unheard.holds_off()
