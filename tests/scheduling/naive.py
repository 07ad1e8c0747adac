"""The definition of scoring, pair by pair and node by node, in plain Python: slow and obvious, and exact to the bit.

Sums are taken one by one from the left (the built-in `sum` does not do that in every version of Python).
"""

import math
from collections.abc import Iterable, Sequence

from haes.scheduling.arrays import CandidateArrays, NodeArrays
from haes.scheduling.stats import NodeStats

WEIGHTS = (1 / 18, 2 / 18, 5 / 18, 10 / 18)
Pair = tuple[int, int]
Row = list[float]


def total(values: Iterable[float]) -> float:
    """Returns the sum, added from the left."""
    result = 0.0
    for value in values:
        result += value
    return result


def imbalance(loads: Sequence[float]) -> float:
    """Returns the imbalance of node loads."""
    if len(loads) < 2 or not total(loads):
        return 0.0
    mean = total(loads) / len(loads)
    spread = math.sqrt(total((load - mean) * (load - mean) for load in loads) / len(loads))
    return spread / mean / math.sqrt(len(loads) - 1)


def pairs_of(nodes: NodeArrays, candidates: CandidateArrays) -> list[Pair]:
    """Returns every pair that is allowed, in order."""
    allowed = {int(number): candidates.allowed[row] for row, number in enumerate(candidates.restricted)}
    return [
        (bundle, target)
        for bundle in range(len(candidates))
        for target in range(len(nodes))
        if target != candidates.source[bundle] and (bundle not in allowed or allowed[bundle][target])
    ]


def used_after(nodes: NodeArrays, candidates: CandidateArrays, pair: Pair) -> list[tuple[float, float]]:
    """Returns (cpu load, memory load) of each node after a motion."""
    bundle, target = pair
    used = []
    for node in range(len(nodes)):
        cpu, mem = float(nodes.cpu[node]), float(nodes.mem[node])
        if node == candidates.source[bundle]:
            cpu, mem = max(0.0, cpu - candidates.cpu[bundle]), max(0.0, mem - candidates.mem[bundle])
        elif node == target:
            cpu, mem = cpu + candidates.cpu[bundle], mem + candidates.mem[bundle]
        used.append((float(cpu / nodes.maxcpu[node]), float(mem / nodes.maxmem[node])))
    return used


def imbalance_after(nodes: NodeArrays, candidates: CandidateArrays, pair: Pair) -> float:
    """Returns the imbalance after a motion, cut at 15 decimals."""
    value = imbalance([(cpu + mem) / 2 for cpu, mem in used_after(nodes, candidates, pair)])
    return math.trunc(value * 1e15) / 1e15


def bruteforce(nodes: NodeArrays, candidates: CandidateArrays, limit: int) -> list[tuple[Pair, float]]:
    """Returns the best pairs by imbalance, with it; equal ones in order of bundle, then target."""
    scored = [(imbalance_after(nodes, candidates, pair), pair) for pair in pairs_of(nodes, candidates)]
    return [(pair, value) for value, pair in sorted(scored)[:limit]]


def criteria(used: Sequence[tuple[float, float]]) -> Row:
    """Returns the four criteria of node loads, given as (cpu load, memory load)."""
    row = []
    for loads in ([cpu for cpu, _ in used], [mem for _, mem in used]):
        row += [1 + math.sqrt(total(load * load for load in loads) / len(loads)), 1 + max(loads)]
    return row


def topsis(rows: Sequence[Row]) -> list[float]:
    """Returns the score of every alternative by its four criteria, all of which are to be low."""
    norms = [math.sqrt(total(row[column] * row[column] for row in rows)) for column in range(4)]
    normal = [[value / norm for value, norm in zip(row, norms, strict=True)] for row in rows]
    best = [min(row[column] for row in normal) for column in range(4)] if rows else []
    worst = [max(row[column] for row in normal) for column in range(4)] if rows else []

    def distance(row: Row, ideal: Row) -> float:
        parts = [(x - y) * w for x, y, w in zip(row, ideal, WEIGHTS, strict=True)]
        return math.sqrt(total(part * part for part in parts))

    scores = []
    for row in normal:
        to_worst, to_best = distance(row, worst), distance(row, best)
        scores.append(to_worst / (to_worst + to_best) if to_worst + to_best else 0.0)
    return scores


def topsis_scores(nodes: NodeArrays, candidates: CandidateArrays) -> dict[Pair, float]:
    """Returns the score of every pair, in order of bundle, then target."""
    pairs = pairs_of(nodes, candidates)
    rows = [criteria(used_after(nodes, candidates, pair)) for pair in pairs]
    return dict(zip(pairs, topsis(rows), strict=True))


def start_scores(used: Sequence[tuple[tuple[float, float], NodeStats]], maxcpu: float, maxmem: float) -> list[float]:
    """Returns the score of starting a resource on each node, given (cpu, mem) in use and capacity of the nodes."""
    rows = []
    for chosen in range(len(used)):
        loads = []
        for node, ((cpu, mem), stats) in enumerate(used):
            more = (maxcpu or stats.maxcpu, maxmem) if node == chosen else (0.0, 0.0)
            loads.append(((cpu + more[0]) / stats.maxcpu, (mem + more[1]) / stats.maxmem))
        rows.append(criteria(loads))
    return topsis(rows)
