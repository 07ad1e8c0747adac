"""Makes the node of an agent: which drivers serve which kinds of resources."""

from collections.abc import Callable
from pathlib import Path

from haes.configuration.cluster import NodeValues
from haes.drivers.process.client import KeeperClient
from haes.drivers.process.definition import ServiceDefinition, definition_of
from haes.drivers.process.node import ProcessNode
from haes.live.node import LiveNode
from haes.live.pretend import PretendNode
from haes.live.real import RealNode
from haes.state.cluster import ClusterState

PRETENDED = "pretended.json"
# What a pretended service is measured against where nobody says what its node offers.
PRETENDED_CPUS, PRETENDED_MEMORY = 4.0, 8 * 1024**3


def build_node(directory: Path, node: str, values: NodeValues, state: Callable[[], ClusterState]) -> LiveNode:
    """Returns the node, its keeper running.

    Args:
        directory: where the node keeps what is its own.
        node: its name.
        values: what it offers, as far as that is not to be measured.
        state: returns the cluster's state as the agent knows it.
    """

    def define(resource: str) -> ServiceDefinition | None:
        configuration = state().configurations.get(resource)
        return None if configuration is None else definition_of(configuration)

    processes = ProcessNode(KeeperClient(directory, node, values.hardware_watchdog), directory, define)
    pretended = PretendNode(
        directory / PRETENDED,
        node,
        cpus=values.cpus or PRETENDED_CPUS,
        memory=values.memory or PRETENDED_MEMORY,
    )
    return RealNode(node, processes, pretended, values)
