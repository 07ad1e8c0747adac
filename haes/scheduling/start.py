"""Which node is best for starting a resource: TOPSIS over the nodes, as if it were started on each."""

import numpy as np

from haes.scheduling.arrays import Floats, NodeArrays
from haes.scheduling.exact import criteria_of_rows
from haes.scheduling.ranking import score


def start_scores(nodes: NodeArrays, maxcpu: float, maxmem: float) -> Floats:
    """Returns the score of each node, 0..1, higher is better.

    Args:
        nodes: the nodes with what they use now.
        maxcpu: cores that the resource may use; 0 stands for all that the node has.
        maxmem: bytes that it may use.
    """
    count = len(nodes)
    cpu = np.repeat(nodes.cpu[None, :], count, axis=0)
    mem = np.repeat(nodes.mem[None, :], count, axis=0)
    diagonal = np.arange(count)
    cpu[diagonal, diagonal] += maxcpu or nodes.maxcpu
    mem[diagonal, diagonal] += maxmem
    return score(criteria_of_rows(cpu / nodes.maxcpu, mem / nodes.maxmem))
