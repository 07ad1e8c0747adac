"""The definition of scoring, pair by pair and node by node, in plain Python: slow and obvious."""

import math
from collections.abc import Sequence

from haes.scheduling.arrays import CandidateArrays, NodeArrays

WEIGHTS = (1 / 18, 2 / 18, 5 / 18, 10 / 18)
Pair = tuple[int, int]


def imbalance(loads: Sequence[float]) -> float:
    """Returns the imbalance of node loads."""
    if len(loads) < 2 or not sum(loads):
        return 0.0
    mean = sum(loads) / len(loads)
    spread = math.sqrt(sum((load - mean) ** 2 for load in loads) / len(loads))
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
    """Returns the best pairs by imbalance, with it."""
    scored = [(imbalance_after(nodes, candidates, pair), pair) for pair in pairs_of(nodes, candidates)]
    return [(pair, value) for value, pair in sorted(scored)[:limit]]


def topsis_scores(nodes: NodeArrays, candidates: CandidateArrays) -> dict[Pair, float]:
    """Returns the score of every pair."""
    rows: dict[Pair, list[float]] = {}
    for pair in pairs_of(nodes, candidates):
        used = used_after(nodes, candidates, pair)
        row = []
        for loads in ([cpu for cpu, _ in used], [mem for _, mem in used]):
            row += [1 + math.sqrt(sum(load**2 for load in loads) / len(loads)), 1 + max(loads)]
        rows[pair] = row
    norms = [math.sqrt(sum(row[column] ** 2 for row in rows.values())) for column in range(4)]
    normal = {pair: [value / norm for value, norm in zip(row, norms, strict=True)] for pair, row in rows.items()}
    best = [min(row[column] for row in normal.values()) for column in range(4)] if rows else []
    worst = [max(row[column] for row in normal.values()) for column in range(4)] if rows else []

    def distance(row: list[float], ideal: list[float]) -> float:
        return math.sqrt(sum(((x - y) * w) ** 2 for x, y, w in zip(row, ideal, WEIGHTS, strict=True)))

    scores = {}
    for pair, row in normal.items():
        to_worst, together = distance(row, worst), distance(row, worst) + distance(row, best)
        scores[pair] = to_worst / together if together else 0.0
    return scores
