"""Queueing motions: what a motion of one resource means for the others in affinity with it, and what is on the way."""

from haes.machines.resource import MOVING
from haes.manager.context import Round
from haes.state.cluster import ClusterState


def motion_queued_or_running(state: ClusterState, resource: str) -> bool:
    """Returns whether a motion of a resource waits or is under way; the one predicate for all who ask."""
    record = state.resources.get(resource)
    if record is None:
        return False
    return record.state in MOVING or (record.request is not None and record.request[0] in MOVING)


def any_motion_queued_or_running(state: ClusterState) -> str | None:
    """Returns a resource whose motion waits or is under way, or None."""
    for resource, record in state.resources.items():
        if record.state in MOVING or (record.request is not None and record.request[0] in MOVING):
            return resource
    return None


def blocked_by(round_: Round, resource: str, target: str) -> str | None:
    """Returns a resource on the target that the moving one must keep away from, or None."""
    resources = round_.state.resources
    for other in sorted(round_.rules.compiled.separate.get(resource, ())):
        record = resources.get(other)
        if record is None or record.node != target or (record.target is not None and record.target != target):
            continue
        return other
    return None


def queue_motion(
    round_: Round, resource: str, verb: str, target: str, *, origin: str, command: int | None = None
) -> list[str]:
    """Queues the motion of a resource and of all that must be together with it.

    The caller has made sure that nothing blocks it. Returns the resources that got a motion.
    """
    batch, resources = round_.batch, round_.state.resources
    batch.emit(
        "resource.motion_queued",
        resource,
        about=f"{verb} to {target}",
        cause=origin,
        correlation=origin,
        verb=verb,
        target=target,
        origin=origin,
        command=command,
    )
    queued = [resource]
    for other in sorted(round_.rules.compiled.together.get(resource, ())):
        record = resources.get(other)
        if record is None or target in {record.node, record.target}:
            continue
        batch.emit(
            "resource.motion_queued",
            other,
            about=f"{verb} to {target} with {resource}",
            cause=origin,
            correlation=origin,
            verb=verb,
            target=target,
            origin=origin,
            leader=resource,
        )
        queued.append(other)
    return queued
