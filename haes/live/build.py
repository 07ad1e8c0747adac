"""Makes the node of an agent: which drivers serve which kinds of resources. Knows no driver inside."""

from collections.abc import Callable
from pathlib import Path

from haes.configuration.cluster import NodeValues
from haes.live.node import LiveNode
from haes.live.pretend import PretendNode
from haes.state.cluster import ClusterState


def build_node(directory: Path, node: str, values: NodeValues, _state: Callable[[], ClusterState]) -> LiveNode:
    """Returns the node.

    Args:
        directory: where the node keeps what is its own.
        node: its name.
        values: what it offers, as far as that is not to be measured.
        _state: returns the cluster's state as the agent knows it.
    """
    return PretendNode(directory / "pretended.json", node, cpus=values.cpus or 4.0, memory=values.memory or 8 * 1024**3)
