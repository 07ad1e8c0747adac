"""Which nodes are there, as the leader sees it in the leases, and whose services may be taken away; pure.

A node is present while its agent's lease runs. An agent that left on purpose in order to come back counts as present,
since its services go on under its node's keeper; only a lapsed lease says that a node is gone.
"""

from collections.abc import Mapping

from events.log.port import LeaseInfo
from haes.state.cluster import ClusterState

LEADER_LEASE = "leader"
# What the leader notes in its lease when archiving does not work.
ARCHIVE_TROUBLE = "archive"
AGENT_LEASE = "agent/"
# The owner of an agent's lease is this part of the node; the leader, who takes a lease to fence, is another one.
AGENT_PART = "lrm"


def agent_lease(node: str) -> str:
    """Returns the name of the lease of a node's agent."""
    return AGENT_LEASE + node


def nodes_present(state: ClusterState, leases: Mapping[str, LeaseInfo], *, grace: bool) -> dict[str, bool]:
    """Returns node -> whether it is present, for all that belong to the cluster.

    Args:
        state: the cluster's state.
        leases: as the log has them.
        grace: the log was away: nodes that were present stay so until they had time to renew.
    """
    return {node: _present(state, leases, node, grace=grace) for node in sorted(state.members)}


def _present(state: ClusterState, leases: Mapping[str, LeaseInfo], node: str, *, grace: bool) -> bool:
    lease = leases.get(agent_lease(node))
    if lease is not None and held_by_agent(lease, node):
        if not is_over(lease):
            return True
    elif lease is None:
        agent = state.agents.get(node)
        if agent is not None and agent.mode == "restart":
            return True
    return grace and node in state.present


def held_by_agent(lease: LeaseInfo, node: str) -> bool:
    """Returns whether it is the node's agent that holds, or last held, a lease."""
    return lease.owner.startswith(f"{node}/{AGENT_PART}")


def is_over(lease: LeaseInfo | None) -> bool:
    """Returns whether a lease is held by nobody any more."""
    return lease is None or (lease.expires_in is not None and lease.expires_in <= 0)


def kept_resources(state: ClusterState, node: str) -> list[str]:
    """Returns the resources that go on running on a node that cannot reach the log."""
    return sorted(
        resource
        for resource, record in state.resources.items()
        if record.node == node
        and resource in state.configurations
        and state.configurations[resource].on_store_loss == "keep"
    )
