"""How long a leader's steady round takes, nothing to do, as the cluster grows: the whole round, loads included.

Run it with `python benchmarks/round.py`; `--json` prints one JSON object instead of the table.
"""

import argparse
import json
import statistics
import time

from haes.manager.inputs import Claim, Loads, RoundInputs
from haes.manager.round import Leader
from haes.scheduling.usage import NodeStats, ResourceStats
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.records import AgentRecord, ResourceConfiguration, ResourceRecord

SIZES = ((100, 1_250), (100, 2_500), (100, 5_000), (100, 10_000), (100, 20_000))
# Rounds measured for each size, after one that warms the caches; the median counts.
ROUNDS = 5
GIBIBYTE = 1024**3
SETTINGS = {"crs": {"ha": "dynamic", "ha-auto-rebalance": 1}}


def build(nodes: int, resources: int) -> tuple[ClusterState, Loads]:
    """Returns a balanced cluster in which everything runs, and its loads."""
    state = ClusterState()
    state.settings = SETTINGS
    names = [f"node{number}" for number in range(1, nodes + 1)]
    state.members = set(names)
    state.present = set(names)
    state.nodes = dict.fromkeys(names, "online")
    state.agents = {name: AgentRecord("active", "active") for name in names}
    state.leader, state.scheduler = names[0], "dynamic"
    loads: dict[str, ResourceStats] = {}
    for number in range(resources):
        name, node = f"vm:{100 + number}", names[number % nodes]
        state.configurations[name] = ResourceConfiguration(node=node, state="started")
        state.resources[name] = ResourceRecord("started", node, running=True)
        loads[name] = ResourceStats(0.5, 2 * GIBIBYTE, 2.0, 4 * GIBIBYTE)
    share = resources // nodes
    node_loads = {name: NodeStats(128, 2048 * GIBIBYTE, 0.5 * share, 2 * GIBIBYTE * share) for name in names}
    return state, Loads(node_loads=node_loads, resource_loads=loads)


def measure(nodes: int, resources: int) -> dict[str, float]:
    """Returns the median seconds of a steady round."""
    state, loads = build(nodes, resources)
    leader = Leader()
    seconds = []
    for number in range(ROUNDS + 1):
        inputs = RoundInputs(
            at=10.0 * number,
            node="node1",
            online=dict.fromkeys(state.nodes, True),
            quorate=True,
            claim_agent=lambda _node: Claim.REFUSED,
            loads=lambda: loads,
            previous_round_at=leader.previous_round_at,
            streak=leader.streak,
        )
        begin = time.perf_counter()
        batch = Batch(state.working_copy(), "node1/crm", inputs.at)
        leader.manage(batch, inputs)
        seconds.append(time.perf_counter() - begin)
        if number == 0 and batch.state is not None:
            state = batch.state.working_copy()
        elif batch.events:
            raise SystemExit(f"the round was not steady: {batch.events[0]}")
    return {"nodes": nodes, "resources": resources, "seconds": statistics.median(seconds[1:])}


def main() -> None:
    """Measures every size and prints the result."""
    parser = argparse.ArgumentParser(description="seconds of a leader's steady round")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    rows = [measure(nodes, resources) for nodes, resources in SIZES]
    if options.json:
        print(json.dumps({"rounds": rows}))
        return
    print(f"{'nodes':>6} {'resources':>10} {'ms':>8} {'us/resource':>12}")
    for row in rows:
        print(
            f"{row['nodes']:>6} {row['resources']:>10} {row['seconds'] * 1e3:>8.1f}"
            f" {row['seconds'] / row['resources'] * 1e6:>12.2f}"
        )


if __name__ == "__main__":
    main()
