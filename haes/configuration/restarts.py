"""The restart policy of a service: what its own configuration says, else what the cluster's settings say."""

from dataclasses import dataclass

from haes import settings
from haes.state.cluster import ClusterState

# A factor to this power exceeds every delay that makes sense; it keeps numbers small.
LARGEST_EXPONENT = 64


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """When a service that ended by itself is started again, and when its node is given up.

    Attributes:
        delay: seconds before the first restart of a series.
        factor: by which each next delay is longer.
        longest: seconds that a delay is at most.
        window: seconds within which failures on one node count.
        healthy: seconds of a run after which the series is forgotten.
        most: failures within the window that are answered by a restart on the same node.
    """

    delay: float
    factor: float
    longest: float
    window: float
    healthy: float
    most: int

    def wait(self, series: int) -> float:
        """Returns the seconds before the restart after so many deaths in a row."""
        return float(min(self.delay * self.factor ** min(series - 1, LARGEST_EXPONENT), self.longest))


def policy_of(state: ClusterState, resource: str) -> RestartPolicy:
    """Returns the policy of a configured service."""
    configuration = state.configurations[resource]

    def value(name: str) -> float:
        own = configuration.service.get(name)
        return float(settings.ha(state.settings, name.replace("_", "-")) if own is None else own)

    return RestartPolicy(
        delay=value("restart_delay"),
        factor=value("restart_factor"),
        longest=value("restart_max_delay"),
        window=value("restart_window"),
        healthy=value("restart_healthy"),
        most=configuration.max_restart,
    )
