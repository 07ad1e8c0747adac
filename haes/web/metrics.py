"""What Prometheus reads: the cluster in numbers, taken from the follower when it is asked; keeps nothing itself."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from haes.web.follower import Follower

# Event types that end a motion of the balancer, and what that end is called.
_OUTCOMES = {
    "balance.moved": "moved",
    "balance.failed": "failed",
    "balance.dropped": "dropped",
    "balance.motion_refused": "refused",
}


class ClusterCollector(Collector):
    """The cluster's metrics; counters count from when this process began."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def collect(self) -> Iterator[Metric]:
        """Yields the families."""
        yield from self._log()
        yield from self._cluster()
        yield from self._balance()

    def _log(self) -> Iterator[Metric]:
        follower = self._follower
        state = follower.replica.state
        yield GaugeMetricFamily(
            "haes_up", "1 while the log can be read and everything in it was.", int(follower.why_not_ready is None)
        )
        yield GaugeMetricFamily("haes_log_position", "Number of the last event that was read.", state.n)
        yield GaugeMetricFamily(
            "haes_log_lag_events", "Events of the log that were not yet read.", max(0, follower.head - state.n)
        )
        yield GaugeMetricFamily("haes_log_last_event_timestamp_seconds", "Domain time of the last event.", state.at)
        events = CounterMetricFamily("haes_events", "Events seen, by type.", labels=["type"])
        for type_, count in sorted(follower.counts.items()):
            events.add_metric([type_], count)
        yield events

    def _cluster(self) -> Iterator[Metric]:
        follower = self._follower
        state = follower.replica.state
        yield GaugeMetricFamily("haes_leader", "1 while somebody holds the leader's lease.", int(follower.leads))
        lease = GaugeMetricFamily("haes_lease_seconds_left", "Seconds left of each lease.", labels=["lease"])
        for name, left in sorted(follower.leases.items()):
            if left is not None:
                lease.add_metric([name], left)
        yield lease
        yield _count("haes_nodes", "Nodes by state.", Counter(state.node_state(node) for node in state.members))
        yield _count(
            "haes_services", "Services by state.", Counter(record.state for record in state.resources.values())
        )
        yield GaugeMetricFamily("haes_parked_subjects", "Subjects whose events are not applied.", len(state.parked))
        yield GaugeMetricFamily("haes_troubles", "Things that somebody should look at.", len(follower.trouble))
        for part, name in (("cpu", "haes_node_cpu_ratio"), ("mem", "haes_node_memory_ratio")):
            load = GaugeMetricFamily(name, f"Share of a node's {part} that is in use, 0 to 1.", labels=["node"])
            for node, stats in sorted(follower.loads.items()):
                most = stats.maxcpu if part == "cpu" else stats.maxmem
                load.add_metric([node], (stats.cpu if part == "cpu" else stats.mem) / most if most else 0)
            yield load

    def _balance(self) -> Iterator[Metric]:
        follower = self._follower
        state = follower.replica.state
        memory = state.balance
        motions = CounterMetricFamily(
            "haes_motions", "Motions of the balancer that ended, by outcome.", labels=["outcome"]
        )
        for type_, outcome in _OUTCOMES.items():
            motions.add_metric([outcome], follower.counts[type_])
        yield motions
        yield GaugeMetricFamily(
            "haes_motions_open", "Motions of the balancer under way.", int(memory.motion is not None)
        )
        yield GaugeMetricFamily(
            "haes_failed_pairs", "Pairs of service and target that failed and are remembered.", len(memory.failures)
        )
        yield GaugeMetricFamily(
            "haes_cooldowns",
            "Services that rest after a motion.",
            sum(until > state.at for until in memory.cooldowns.values()),
        )
        yield GaugeMetricFamily(
            "haes_balancer_paused", "1 while the breaker holds the balancer back.", int(memory.paused_until is not None)
        )


def registry_of(follower: Follower) -> CollectorRegistry:
    """Returns a registry with the cluster's metrics and nothing else."""
    registry = CollectorRegistry()
    registry.register(ClusterCollector(follower))
    return registry


def _count(name: str, meaning: str, counts: Counter[str]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=["state"])
    for state, count in sorted(counts.items()):
        family.add_metric([state], count)
    return family
