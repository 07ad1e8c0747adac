"""Plans of clusters too large for proofs: legal, no longer than the greedy way, and the same each time."""

import random
from pathlib import Path
from typing import Any

from haes.cli.plan import plan_ahead
from haes.cli.snapshot import movables, snapshot_of
from haes.scheduling.plan import Plan
from haes.scheduling.planning.building import problem_of
from haes.scheduling.planning.exact import likely
from haes.scheduling.planning.planner import Planned
from tests.scheduling.replaying import Cluster

GIB = 2**30


def _cluster(seed: int, nodes: int, guests: int, threshold: float) -> dict[str, Any]:
    """Returns a crowded cluster: nodes of two sizes, some fuller than others, one in twenty guests bound to some nodes."""
    chance = random.Random(seed)  # noqa: S311 - the same cluster each time
    names = [f"node{number:03}" for number in range(nodes)]
    sizes = {name: chance.choice([1, 1, 2]) for name in names}
    drawn = {name: chance.uniform(0.4, 1.6) * sizes[name] for name in names}
    unit = 0.55 * 32 * sum(sizes.values()) / guests
    used = {name: [0.0, 0.0] for name in names}
    resources: dict[str, Any] = {}
    rules = []
    for number in range(guests):
        cpu, mem = unit * chance.uniform(0.2, 1.8), unit * 4 * GIB * chance.uniform(0.2, 1.8)
        node = chance.choices(names, [drawn[name] for name in names])[0]
        used[node][0] += cpu
        used[node][1] += mem
        resources[f"vm:{1000 + number}"] = {"node": node, "cpu": cpu, "mem": mem, "maxcpu": cpu, "maxmem": mem}
        if number % 20 == 0:
            some = ",".join(sorted({node, *chance.sample(names, nodes // 3)}))
            rules.append(f"node-affinity: only{number}\n\tresources vm:{1000 + number}\n\tnodes {some}\n\tstrict 1\n")
    return {
        "nodes": {
            name: {"maxcpu": 32 * sizes[name], "maxmem": 128 * GIB * sizes[name], "cpu": values[0], "mem": values[1]}
            for name, values in used.items()
        },
        "resources": resources,
        "rules": "\n".join(rules),
        "settings": {
            "ha-auto-rebalance-threshold": threshold,
            "ha-auto-rebalance-margin": 0,
            "ha-auto-rebalance-max-target-load": 100,
        },
    }


def _planned(case: dict[str, Any]) -> Planned:
    snapshot = snapshot_of(case, Path("snapshot.json"))
    return plan_ahead(snapshot, movables(snapshot))


def test_a_large_plan_is_legal_and_no_longer_than_the_greedy_way() -> None:
    """Forty nodes and 800 guests come to rest in at most as many motions as one best motion after the other takes."""
    case = _cluster(1, 40, 800, 2)
    planned = _planned(case)
    cluster = Cluster(case)
    motions = [{"resource": item.resource, "source": item.source, "target": item.target} for item in planned.motions]
    # The cluster is replayed by node, as trying every rule at each of many motions would take minutes.
    places = cluster.start()
    for motion in motions:
        assert places[motion["resource"]] == motion["source"]
        assert motion["target"] in cluster.only.get(motion["resource"], set(cluster.nodes))
        places[motion["resource"]] = motion["target"]
        assert max(cluster.shares(places, motion["target"])) <= cluster.ceiling + 1e-9
    assert cluster.at_rest(places)
    assert planned.bound <= len(motions)
    snapshot = snapshot_of(case, Path("snapshot.json"))
    step_by_step = Plan(snapshot.nodes, movables(snapshot), snapshot.places)
    assert len(motions) <= len(step_by_step.until_balanced("bruteforce", 0.02, 0.0))
    assert _planned(case) == planned


def test_likely_sets_lead_to_rest_where_not_all_can_be_tried() -> None:
    """Following only the nearest partial sets finds a sequence as short as the proved one here, and it is legal."""
    case = _cluster(2, 6, 40, 8)
    planned = _planned(case)
    assert planned.is_shortest
    snapshot = snapshot_of(case, Path("snapshot.json"))
    problem = problem_of(snapshot.nodes, movables(snapshot), snapshot.places, threshold=0.08, ceiling=1.0)
    found = likely(problem, len(planned.motions), 100)
    assert found.motions is not None
    assert len(found.motions) == len(planned.motions)
