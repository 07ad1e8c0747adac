"""Plans beside two other ways to even a cluster out: motions, memory moved, the fullest target on the way, time.

*step by step* makes the best motion, and again, until the threshold is kept. *target, then move* is this script's own
model of a balancer that first computes an even placement and then moves all that lies elsewhere, in any order: nodes
keep guests, largest first, up to the mean load, and the others are placed on the emptiest node.

Run it with `python benchmarks/planning.py`; `--json` prints JSON.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from heapq import heapify, heapreplace

from haes.scheduling.motions import Scored
from haes.scheduling.plan import Movable, Plan
from haes.scheduling.planning.building import problem_of
from haes.scheduling.planning.planner import plan
from haes.scheduling.stats import NodeStats

GIBIBYTE = 2**30
# (nodes, guests, threshold in percent): the imbalance is normalised, so the same unevenness shows less on more nodes.
SIZES = ((3, 15, 5.0), (6, 30, 5.0), (12, 120, 5.0), (30, 600, 5.0), (100, 10_000, 2.0), (1_000, 100_000, 0.5))
CEILING = 0.85
# Beyond this many guests one best motion after the other takes minutes.
LARGEST_STEPWISE = 20_000


@dataclass(slots=True)
class Figures:
    """What one way did to one cluster."""

    way: str
    nodes: int
    guests: int
    threshold: float
    motions: int
    gib_moved: float
    fullest_target_percent: float
    over_ceiling_on_arrival: int
    imbalance_percent: float
    seconds: float
    peak_mib: float


def build(nodes: int, guests: int) -> tuple[dict[str, NodeStats], list[Movable]]:
    """Returns a random cluster, the same for the same arguments: guests of very different sizes, unevenly spread."""
    chance = random.Random(nodes * 31 + guests)
    names = [f"node{number:04}" for number in range(nodes)]
    size = {name: 64 * (2 if chance.random() < 0.3 else 1) for name in names}
    drawn = [chance.uniform(0.5, 1.5) * size[name] for name in names]
    weights = [chance.lognormvariate(0, 0.8) for _ in range(guests)]
    unit = 0.5 * sum(size.values()) / sum(weights)
    used = {name: [0.0, 0.0] for name in names}
    movables = []
    for number, (weight, node) in enumerate(zip(weights, chance.choices(names, drawn, k=guests), strict=True)):
        cpu, mem = weight * unit * chance.uniform(0.6, 1.4), weight * unit * 4 * GIBIBYTE * chance.uniform(0.6, 1.4)
        used[node][0] += cpu
        used[node][1] += mem
        movables.append(Movable((f"vm:{number:06}",), node, cpu, mem))
    stats = {name: NodeStats(size[name], size[name] * 4 * GIBIBYTE, *used[name]) for name in names}
    return stats, movables


def target_then_move(stats: dict[str, NodeStats], movables: list[Movable]) -> list[tuple[str, str, str]]:
    """Returns (guest, source, target) of all that lies elsewhere in an even placement."""
    mean = sum(item.load() for item in stats.values()) / len(stats)
    kept, homeless = dict.fromkeys(stats, 0.0), []
    for guest in sorted(movables, key=lambda item: (-(item.cpu + item.mem / 4 / GIBIBYTE), item.members)):
        share = (guest.cpu / stats[guest.node].maxcpu + guest.mem / stats[guest.node].maxmem) / 2
        if kept[guest.node] + share <= mean:
            kept[guest.node] += share
        else:
            homeless.append(guest)
    heap = [(load, name) for name, load in sorted(kept.items())]
    heapify(heap)
    motions = []
    for guest in homeless:
        load, name = heap[0]
        share = (guest.cpu / stats[name].maxcpu + guest.mem / stats[name].maxmem) / 2
        heapreplace(heap, (load + share, name))
        if name != guest.node:
            motions.append((guest.members[0], guest.node, name))
    return motions


def measure(way: str, nodes: int, guests: int, threshold: float) -> Figures:
    """Lets one way even out one cluster and says what came of it."""
    stats, movables = build(nodes, guests)
    begin = time.perf_counter()
    if way == "plan":
        problem = problem_of(stats, movables, {}, threshold=threshold / 100, ceiling=CEILING)
        motions = [(item.resource, item.source, item.target) for item in plan(problem).motions]
    elif way == "step by step":
        found: list[Scored] = Plan(stats, movables, {}).until_balanced("bruteforce", threshold / 100, 0.0)
        motions = [(item.resource, item.source, item.target) for item in found]
    else:
        motions = target_then_move(stats, movables)
    seconds = time.perf_counter() - begin
    by_name = {item.members[0]: item for item in movables}
    used = {name: [item.cpu, item.mem] for name, item in stats.items()}
    fullest, over = 0.0, 0
    for name, source, target in motions:
        for kind, moved in enumerate((by_name[name].cpu, by_name[name].mem)):
            used[source][kind] -= moved
            used[target][kind] += moved
        share = max(used[target][0] / stats[target].maxcpu, used[target][1] / stats[target].maxmem)
        fullest, over = max(fullest, share), over + (share > CEILING * (1 + 1e-9))
    after = {name: NodeStats(item.maxcpu, item.maxmem, *used[name]) for name, item in stats.items()}
    return Figures(
        way,
        nodes,
        guests,
        threshold,
        len(motions),
        round(sum(by_name[name].mem for name, _, _ in motions) / GIBIBYTE, 1),
        round(fullest * 100, 1),
        over,
        round(Plan(after, [], {}).imbalance() * 100, 2),
        round(seconds, 3),
        round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def main() -> None:
    """Measures every way on every size, each in a process of its own, so that peaks of memory are told apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--one", nargs=4, metavar=("WAY", "NODES", "GUESTS", "PERCENT"), help="one way on one size")
    options = parser.parse_args()
    if options.one:
        way, nodes, guests, threshold = options.one
        print(json.dumps(asdict(measure(way, int(nodes), int(guests), float(threshold)))))
        return
    if not options.json:
        print("| nodes | guests | way | motions | GiB moved | fullest target | over ceiling | imbalance | s | MiB |")
        print("|---|---|---|---|---|---|---|---|---|---|")
    for nodes, guests, threshold in SIZES:
        for way in ("plan", "step by step", "target, then move"):
            if way == "step by step" and guests > LARGEST_STEPWISE:
                continue
            words = [sys.executable, __file__, "--one", way, str(nodes), str(guests), str(threshold)]
            line = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - itself
            item = Figures(**json.loads(line))
            if options.json:
                print(line)
                continue
            print(
                f"| {item.nodes:,} | {item.guests:,} | {item.way} | {item.motions:,} | {item.gib_moved:,} "
                f"| {item.fullest_target_percent} % | {item.over_ceiling_on_arrival} | {item.imbalance_percent} % "
                f"| {item.seconds} | {item.peak_mib:.0f} |"
            )


if __name__ == "__main__":
    main()
