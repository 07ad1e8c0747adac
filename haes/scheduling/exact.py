"""Imbalance and criteria to the last bit: every sum is taken in order of node name, as the definition does.

The fast methods find the few pairs near the top; these functions settle them. `numpy.cumsum` adds one by one from the
left, which `numpy.sum` does not.
"""

import numpy as np

from haes.scheduling.arrays import CandidateArrays, Floats, NodeArrays, Pairs

# Imbalances are compared with this many decimals; what is beyond is an artefact of the arithmetic.
DECIMALS = 15
# Items of the largest intermediate matrix, 32 MB.
LARGEST_MATRIX = 4_000_000


def _sum_in_order(rows: Floats) -> Floats:
    """Returns the sum of each row, added from left to right."""
    total: Floats = np.cumsum(rows, axis=1)[:, -1]
    return total


def imbalance_of_rows(loads: Floats) -> Floats:
    """Returns the imbalance of each row of node loads, 0..1.

    It is the standard deviation over the mean, divided by its largest possible value, sqrt(nodes - 1). With fewer than
    two nodes, or without any load, it is 0.
    """
    rows, count = loads.shape
    result = np.zeros(rows)
    if count < 2:  # noqa: PLR2004 - one node alone is balanced
        return result
    sums = _sum_in_order(loads)
    loaded = sums != 0.0
    means = sums[loaded] / count
    deviations = loads[loaded] - means[:, None]
    spread = np.sqrt(_sum_in_order(deviations * deviations) / count)
    result[loaded] = spread / means / np.sqrt(count - 1)
    return result


def imbalance(nodes: NodeArrays) -> float:
    """Returns the imbalance of the nodes as they are, 0..1."""
    if not len(nodes):
        return 0.0
    return float(imbalance_of_rows(nodes.loads()[None, :])[0])


def truncate(values: Floats) -> Floats:
    """Cuts values at the decimals that count."""
    factor = 10.0**DECIMALS
    cut: Floats = np.trunc(factor * values) / factor
    return cut


def _moved_used(nodes: NodeArrays, candidates: CandidateArrays, pairs: Pairs) -> tuple[Floats, Floats]:
    """Returns, for each pair, what every node uses after the motion: cpu and memory, shape (pairs, nodes)."""
    rows = np.arange(len(pairs))
    source = candidates.source[pairs.bundle]
    bundle_cpu, bundle_mem = candidates.cpu[pairs.bundle], candidates.mem[pairs.bundle]
    cpu = np.repeat(nodes.cpu[None, :], len(pairs), axis=0)
    mem = np.repeat(nodes.mem[None, :], len(pairs), axis=0)
    cpu[rows, source] = np.maximum(0.0, cpu[rows, source] - bundle_cpu)
    mem[rows, source] = np.maximum(0.0, mem[rows, source] - bundle_mem)
    cpu[rows, pairs.target] += bundle_cpu
    mem[rows, pairs.target] += bundle_mem
    return cpu, mem


def imbalance_after(nodes: NodeArrays, candidates: CandidateArrays, pairs: Pairs) -> Floats:
    """Returns the imbalance after each motion, cut at the decimals that count."""
    result = np.empty(len(pairs))
    step = max(1, LARGEST_MATRIX // max(1, len(nodes)))
    for begin in range(0, len(pairs), step):
        part = pairs.take(np.arange(begin, min(begin + step, len(pairs))))
        cpu, mem = _moved_used(nodes, candidates, part)
        result[begin : begin + len(part)] = imbalance_of_rows((cpu / nodes.maxcpu + mem / nodes.maxmem) / 2.0)
    return truncate(result)


def criteria_after(nodes: NodeArrays, candidates: CandidateArrays, pairs: Pairs) -> Floats:
    """Returns the four criteria after each motion, shape (pairs, 4); see `criteria_of_rows`."""
    result = np.empty((len(pairs), 4))
    step = max(1, LARGEST_MATRIX // max(1, len(nodes)))
    for begin in range(0, len(pairs), step):
        part = pairs.take(np.arange(begin, min(begin + step, len(pairs))))
        cpu, mem = _moved_used(nodes, candidates, part)
        result[begin : begin + len(part)] = criteria_of_rows(cpu / nodes.maxcpu, mem / nodes.maxmem)
    return result


def criteria_of_rows(cpu_loads: Floats, mem_loads: Floats) -> Floats:
    """Returns average cpu, highest cpu, average memory, highest memory for each row of node loads.

    Averages are root mean squares. Each gets 1 added, so that tiny differences between tiny loads weigh little.
    """
    count = cpu_loads.shape[1]
    parts = []
    for loads in (cpu_loads, mem_loads):
        parts += [np.sqrt(_sum_in_order(loads * loads) / count), np.maximum(0.0, loads.max(axis=1))]
    criteria: Floats = 1.0 + np.stack(parts, axis=1)
    return criteria
