"""How the death of a service goes on record: the agent's report, with what is known of it. Knows no process."""

from dataclasses import asdict

from haes.drivers.port import ServiceEnd
from haes.state.batch import Batch
from haes.state.restarts import how_it_ended


def record_end(batch: Batch, node: str, end: ServiceEnd) -> None:
    """Records that a service ended by itself, unless it is on record already."""
    assert batch.state is not None  # noqa: S101 - agents decide on a working copy
    memory = batch.state.services.get(end.resource)
    if end.resource not in batch.state.configurations or (memory is not None and memory.run == end.run):
        return
    known = asdict(end)
    del known["resource"]
    batch.emit(
        "service.died",
        end.resource,
        about=f"{how_it_ended(known)}, after {end.ran:.1f} s",
        node=node,
        **{**known, "lines": list(end.lines)},
    )
