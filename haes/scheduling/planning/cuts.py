"""What a partial set of changes must still bring, at least: planes between states and evenness; knows no search."""

import numpy as np

from haes.scheduling.arrays import Floats, Ints
from haes.scheduling.planning.problem import Problem


def plane(loads: Floats, limit: float) -> tuple[Floats, Floats]:
    """Returns a plane between each state and evenness: its slope, and how far loads must still come down along it.

    Evenness is the cone in which the length of the loads is at most a factor times their sum.

    Args:
        loads: of each node in each state, shape (states, nodes).
        limit: the imbalance not to exceed, 0..1.
    """
    count = loads.shape[1]
    mean = loads.mean(axis=1, keepdims=True)
    apart = loads - mean
    spread = np.sqrt((apart * apart).sum(axis=1, keepdims=True))
    radius = limit * mean * np.sqrt(count * max(1, count - 1))
    # The plane that touches the cone where it is nearest separates best; any other would be right, too.
    with np.errstate(divide="ignore", invalid="ignore"):
        near = mean + apart * np.where(spread > radius, radius / spread, 1.0)
        slope = near / np.sqrt((near * near).sum(axis=1, keepdims=True))
    slope = np.nan_to_num(slope) - np.sqrt((1.0 + limit * limit * max(1, count - 1)) / count)
    return slope, (slope * loads).sum(axis=1)


def best_others(best: Floats, count: int) -> Floats:
    """Returns for each row and unit the sum of the largest values of `count` other units."""
    if count <= 0:
        return np.zeros_like(best)
    if best.shape[1] <= count:
        return np.full_like(best, -np.inf)
    ranked = -np.partition(-best, count, axis=1)[:, : count + 1]
    ranked = -np.sort(-ranked, axis=1)
    first, longer = ranked[:, :count].sum(axis=1), ranked.sum(axis=1)
    with np.errstate(invalid="ignore"):
        without = longer[:, None] - best
    others: Floats = np.where(best >= ranked[:, count - 1 : count], without, first[:, None])
    return np.where(np.isnan(others), -np.inf, others)


def least_motions(problem: Problem) -> int:
    """Returns a number of motions that are needed at least, for clusters too large to ask more closely.

    Every unit may move to where it would help most, whatever rules say and however full that is; as many of the best of
    these motions are needed as together cross the plane between the cluster and evenness.
    """
    nodes, rows = problem.nodes, np.arange(len(problem.names))
    slopes, distances = plane(nodes.loads()[None, :], problem.threshold)
    slope, distance = slopes[0], float(distances[0])

    def load_on(node: Ints | int) -> Floats:
        load: Floats = (problem.cpu / nodes.maxcpu[node] + problem.mem / nodes.maxmem[node]) / 2.0
        return load

    lowest = np.full(len(rows), np.inf)
    for members in nodes.classes:
        lowest = np.minimum(lowest, load_on(int(members[0])) * slope[members].min())
    gains = load_on(problem.source) * slope[problem.source] - lowest
    together = np.cumsum(-np.sort(-gains))
    return max(1, min(len(rows), int(np.searchsorted(together, distance * (1.0 - 1e-9))) + 1))
