"""The cluster's state and how events change it: everything that matters is here, and all of it can be replayed."""

from haes.state.cluster import ClusterState
from haes.state.fold import apply_event

__all__ = ["ClusterState", "apply_event"]
