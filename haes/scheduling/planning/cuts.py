"""What a partial set of changes must still bring, at least: planes between states and evenness; knows no search."""

import numpy as np

from haes.scheduling.arrays import Floats


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
