"""The same story in the `eventsourcing` library: resources as aggregates, rebuilt from their events.

What is compared is a replay from stored events to the present state of every resource, with the library's own event
classes, encoding and repository. It has no balancer's memory, no versions over all and no gaps to look for.
"""

import time
from importlib.metadata import version
from typing import Any

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

STORES = {
    "memory": {"PERSISTENCE_MODULE": "eventsourcing.popo"},
    "sqlite": {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": ":memory:"},
}


class Resource(Aggregate):
    """A resource with the fields that most events change."""

    @event("Added")
    def __init__(self, node: str, state: str) -> None:
        self.node = node
        self.state = state
        self.target: str | None = None
        self.origin: str | None = None
        self.running = False
        self.job = 1
        self.result: int | None = None

    @event("Entered")
    def enter(self, state: str, node: str, target: str | None, origin: str | None) -> None:
        """Enters a state."""
        self.state, self.node, self.target, self.origin = state, node, target, origin
        self.running, self.result = False, None
        self.job += 1

    @event("Done")
    def done(self, job: int, exit_code: int) -> None:
        """Notes how a job ended."""
        if self.job == job:
            self.result = exit_code

    @event("Confirmed")
    def confirm(self, node: str) -> None:
        """Notes that it runs."""
        self.node, self.running, self.result = node, True, None
        self.job += 1


def measure(count: int, resources: int) -> dict[str, Any]:
    """Returns the library's version and, for each kind of store, events per second.

    Args:
        count: how many events to store.
        resources: over how many aggregates they are spread.
    """
    figures: dict[str, Any] = {"version": version("eventsourcing")}
    for name, environment in STORES.items():
        figures[name] = _rate(environment, count, min(resources, count))
    return figures


def _rate(environment: dict[str, str], count: int, resources: int) -> float:
    application: Application[Any] = Application(env=environment)
    names = []
    for number in range(resources):
        resource = Resource(node="node1", state="request_start")
        names.append(resource.id)
        for step in range(count // resources - 1):
            match step % 5:
                case 0:
                    resource.enter("started", "node1", None, None)
                case 1:
                    resource.done(resource.job, 0)
                case 2:
                    resource.confirm("node1")
                case 3:
                    resource.enter("migrate", "node1", "node2", f"motion/{number}")
                case _:
                    resource.done(resource.job, 0)
        application.save(resource)
    begin = time.perf_counter()
    total = sum(application.repository.get(name).version for name in names)
    return total / (time.perf_counter() - begin)
