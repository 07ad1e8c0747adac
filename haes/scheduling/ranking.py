"""TOPSIS: alternatives scored by their distance to the best and the worst of all; knows no cluster."""

import numpy as np

from haes.scheduling.arrays import Floats

# Weights of average cpu, highest cpu, average memory, highest memory. All are to be low.
WEIGHTS: Floats = np.array([1.0, 2.0, 5.0, 10.0]) / 18.0


def norms_of(criteria: Floats) -> Floats:
    """Returns the length of each column, added from top to bottom; 1 where a column is all zero."""
    lengths = np.sqrt(np.cumsum(criteria * criteria, axis=0)[-1])
    norms: Floats = np.where(lengths == 0.0, 1.0, lengths)
    return norms


def _lengths(rows: Floats) -> Floats:
    """Returns the length of each row of four, its squares added from left to right."""
    squares = rows * rows
    lengths: Floats = np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2] + squares[:, 3])
    return lengths


def score_between(criteria: Floats, norms: Floats, lowest: Floats, highest: Floats) -> Floats:
    """Returns the score of each row, 0..1, higher is better.

    Args:
        criteria: shape (rows, 4).
        norms: length of each column over all alternatives.
        lowest: smallest normalised value of each column over all alternatives.
        highest: largest normalised value of each column over all alternatives.
    """
    normalised = criteria / norms
    to_best = (normalised - lowest) * WEIGHTS
    to_worst = (normalised - highest) * WEIGHTS
    best, worst = _lengths(to_best), _lengths(to_worst)
    together = worst + best
    scores: Floats = np.divide(worst, together, out=np.zeros_like(worst), where=together != 0.0)
    return scores


def score(criteria: Floats) -> Floats:
    """Returns the score of each of all the alternatives, given as rows."""
    if not len(criteria):
        return np.empty(0)
    norms = norms_of(criteria)
    normalised = criteria / norms
    return score_between(criteria, norms, normalised.min(axis=0), normalised.max(axis=0))
