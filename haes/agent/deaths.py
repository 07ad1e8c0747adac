"""How the death of a service goes on record: the agent's report, and what follows by the service's restart policy.

Knows no process. What follows stands in the event, so that it is the same whoever reads it and whatever is killed.
"""

from dataclasses import asdict

from haes.configuration.restarts import policy_of
from haes.drivers.port import ServiceEnd
from haes.state.batch import Batch
from haes.state.restarts import NOTHING, RELOCATE, RESTART, ServiceMemory, how_it_ended


def record_end(batch: Batch, node: str, end: ServiceEnd) -> None:
    """Records that a service ended by itself, unless it is on record already."""
    state = batch.state
    assert state is not None  # noqa: S101 - agents decide on a working copy
    memory = state.services.get(end.resource, ServiceMemory())
    if end.resource not in state.configurations or memory.run == end.run:
        return
    known = {**asdict(end), "lines": list(end.lines)}
    del known["resource"]
    record = state.resources.get(end.resource)
    series, failures, plan, until = 0, 0, NOTHING, None
    if record is not None and record.node == node and record.state == "started":
        policy = policy_of(state, end.resource)
        before = memory.forgotten() if end.ran >= policy.healthy else memory
        series = before.series + 1
        failures = before.failures_on(node, batch.at, policy.window) + 1
        plan = RESTART if failures <= policy.most else RELOCATE
        until = batch.at + policy.wait(series)
    batch.emit(
        "service.died",
        end.resource,
        about=f"{how_it_ended(known)}, after {end.ran:.1f} s",
        node=node,
        series=series,
        failures=failures,
        plan=plan,
        until=until,
        **known,
    )
