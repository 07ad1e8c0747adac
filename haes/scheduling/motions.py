"""The methods by name, and what they choose as people and events name it."""

from dataclasses import dataclass

from haes.scheduling import bruteforce, topsis
from haes.scheduling.arrays import CandidateArrays, Floats, NodeArrays, Pairs

METHODS = {"bruteforce": bruteforce.best_motions, "topsis": topsis.best_motions}


@dataclass(slots=True, frozen=True)
class Scored:
    """A motion, and the imbalance after it, 0..1; a bundle goes by the name of its leader."""

    resource: str
    source: str
    target: str
    imbalance: float


def scored_motions(nodes: NodeArrays, candidates: CandidateArrays, pairs: Pairs, imbalances: Floats) -> list[Scored]:
    """Returns chosen pairs, given with the imbalance after each, by name."""
    return [
        Scored(candidates.names[bundle], nodes.names[candidates.source[bundle]], nodes.names[target], after)
        for bundle, target, after in zip(pairs.bundle, pairs.target, imbalances.tolist(), strict=True)
    ]


def best_motions(nodes: NodeArrays, candidates: CandidateArrays, method: str, limit: int) -> list[Scored]:
    """Returns up to `limit` best motions by a method, best first."""
    pairs, imbalances = METHODS[method](nodes, candidates, limit)
    return scored_motions(nodes, candidates, pairs, imbalances)
