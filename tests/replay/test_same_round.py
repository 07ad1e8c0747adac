"""A motion that was decided in the very round in which operators changed what it depends on comes out again."""

import json
from typing import Any

import pytest

from events.log.side import SideEntry
from haes.manager.inputs import Claim, Request, RoundInputs
from haes.manager.process import ManagerProcess
from haes.state import ClusterState
from haes.state.batch import Batch
from haes.state.fold import apply_event
from haes.state.records import ResourceConfiguration, ResourceRecord
from haes.telemetry import Sample, SampleWindow, encode
from replay.checks.measured import Measured

NODES = ("node1", "node2", "node3")
SETTINGS: dict[str, Any] = {
    "ha": "dynamic",
    "ha-auto-rebalance": 1,
    "ha-auto-rebalance-threshold": 1,
    "ha-auto-rebalance-margin": 0,
    "ha-auto-rebalance-hold-duration": 1,
    "ha-load-average-window": 60,
}


def _state() -> ClusterState:
    """Returns a cluster whose first node carries everything; vm:6 must not go to node3."""
    state = ClusterState()
    state.members = set(NODES)
    state.present = set(NODES)
    state.nodes = dict.fromkeys(NODES, "online")
    state.settings = {"crs": SETTINGS}
    for number in range(1, 7):
        name = f"vm:{number}"
        state.configurations[name] = ResourceConfiguration("node1", state="started", max_relocate=number % 2)
        state.resources[name] = ResourceRecord("started", "node1", running=True)
    return state


def _samples() -> list[SideEntry]:
    """Returns samples of two minutes, in whose second half the loads are others than in the first."""
    entries = []
    for second in range(0, 120, 10):
        for place, node in enumerate(NODES):
            services = {
                f"vm:{number}": (0.1 * number if second >= 60 else 0.7 / number, 1 << 20)
                for number in range(1, 7)
                if node == "node1"
            }
            used = sum(cpu for cpu, _ in services.values())
            sample = Sample(node, 4.0, 1 << 30, used, len(services) << 20, services)
            entries.append(
                SideEntry(f"{1_000_000 + second * 1000}-{place}", {k: bytes(v) for k, v in encode(sample).items()})
            )
    return entries


def _requests(*commands: tuple[str, ...]) -> list[Request]:
    return [Request("eve", f"1-{place}", verb, arguments) for place, (verb, *arguments) in enumerate(commands, 1)]


RULE = (
    "resource-affinity: apart\n\tresources vm:5,vm:6\n\taffinity negative\n\n"
    "node-affinity: pin\n\tresources vm:4\n\tnodes node1,node3\n\tstrict 1\n"
)


@pytest.mark.parametrize(
    "commands",
    [
        [],
        [("unconfigure", "vm:4")],
        [("configure", "vm:4", json.dumps({"auto_rebalance": False}))],
        [("change-rules", RULE)],
        [("change-settings", json.dumps({"crs": {**SETTINGS, "ha-load-average-window": 120}}))],
        [("change-settings", json.dumps({"crs": {**SETTINGS, "ha-auto-rebalance-margin": 1}}))],
    ],
    ids=lambda commands: " and ".join(command[0] for command in commands) or "nothing",
)
def test_a_motion_of_the_round_of_a_change_comes_out_again(commands: list[tuple[str, ...]]) -> None:
    """What was chosen, what else could have been and what was left out all follow from state and samples."""
    state, samples = _state(), _samples()
    before, window = _state(), SampleWindow()
    for sample in samples:
        window.add(sample)
    window.forget(60)
    batch = Batch(state, "node1/crm", 200)
    process = ManagerProcess("node1")
    process._enter(batch, "wait_for_quorum")
    process._enter(batch, "master")
    assert process.leader is not None
    inputs = RoundInputs(
        at=200,
        node="node1",
        online=dict.fromkeys(NODES, True),
        quorate=True,
        claim_agent=lambda _node: Claim.REFUSED,
        loads=lambda: window.loads(state),
        requests=_requests(*commands),
        outside=True,
    )
    process.leader.manage(batch, inputs)
    check = Measured([SideEntry("0-1", {}), *samples])
    for event in batch.events:
        check.before(event, before)
        apply_event(before, event)
    assert [finding.text for finding in check.findings] == []
    assert check.end(before) == "1 motions come out again from their samples"
    answered = [event.type for event in batch.events if event.type in {"command.done", "command.rejected"}]
    assert answered == ["command.done"] * len(commands)
