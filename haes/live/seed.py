"""Puts on record what a cluster begins with, once: whoever comes first writes it, the others find it there."""

from events.errors import LeaseHeld, StaleDecision
from events.log.port import EventLog
from haes.configuration.cluster import ClusterConfiguration
from haes.settings import Settings
from haes.state.batch import Batch

LEASE = "operator"
# How a cluster that begins from a file remembers motions that others than the balancer ask for.
MOTION_BACKOFF = "time"
# Seconds for which the lease is held: one append and a few repeats.
LEASE_TERM = 10.0


async def seed(log: EventLog, configuration: ClusterConfiguration, by: str) -> bool:
    """Writes the first events of a cluster; returns False when it has a beginning already.

    Args:
        log: the log, open.
        configuration: what the cluster begins with.
        by: the author.
    """
    if (await log.head()).n:
        return False
    try:
        token = await log.acquire(LEASE, by, ttl=LEASE_TERM)
    except LeaseHeld:
        return False
    batch = Batch(None, by, await log.now())
    batch.emit("cluster.created", "cluster", about=configuration.name, name=log.cluster)
    batch.emit("settings.changed", "settings", settings=_settings(configuration))
    if configuration.rules:
        batch.emit("rules.changed", "rules", text=configuration.rules)
    for node in sorted(configuration.nodes):
        batch.emit("node.added", node)
    for resource, changes in sorted(configuration.resources.items()):
        batch.emit("resource.configured", resource, about=changes["node"], changes=dict(changes))
    try:
        await log.append(batch.events, token=token, expect={"cluster": 0}, command="seed")
    except StaleDecision:
        return False
    finally:
        await log.release(token)
    return True


def _settings(configuration: ClusterConfiguration) -> Settings:
    """Returns the settings to begin with: a new cluster remembers motions of every kind unless its file says no."""
    given = configuration.settings
    return {**given, "crs": {"ha-motion-backoff": MOTION_BACKOFF, **given.get("crs", {})}}
