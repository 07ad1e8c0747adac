"""Which event types exist and what their payloads hold; importing it declares them all. No rule of HA lives here."""

from events.catalog import (
    agents,
    archive,
    balance,
    cluster,
    commands,
    jobs,
    log,
    managers,
    motions,
    nodes,
    resources,
    services,
    simulation,
)

__all__ = [
    "agents",
    "archive",
    "balance",
    "cluster",
    "commands",
    "jobs",
    "log",
    "managers",
    "motions",
    "nodes",
    "resources",
    "services",
    "simulation",
]
