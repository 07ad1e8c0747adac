"""How motions ended that others than the balancer asked for, in its very memory; and what follows for where to go.

A target that failed is left out while another legal one is there; when there is none it is tried again after its
back-off. A node that motions of several resources could not reach, for a reason of its own, is left alone for a while.
"""

from collections.abc import Collection
from collections.abc import Set as AbstractSet

from haes.balancer.memory import Failure
from haes.exit_codes import IGNORED, SUCCESS
from haes.manager.context import Round
from haes.state.restarts import describe_series

# Doubling a wait this often exceeds every maximum that makes sense; it keeps numbers small.
LARGEST_EXPONENT = 62
# Series of the balancer for which a pair is left out at most, as for the balancer's own motions.
LONGEST_SKIP = 1024
OFF = "none"


def policy(round_: Round) -> str:
    """Returns how motions are remembered: none, time, series."""
    chosen: str = round_.crs("ha-motion-backoff")
    return chosen


def has_memory(round_: Round) -> bool:
    """Returns whether anything is remembered that may change where something goes."""
    memory = round_.state.balance
    return bool(memory.failures or memory.nodes) and policy(round_) != OFF


def remember_deaths(round_: Round, resource: str) -> None:
    """Records that a service died too often on its node: it goes back there no sooner than after a failed motion."""
    memory = round_.state.services.get(resource)
    if policy(round_) != OFF and memory is not None and memory.series:
        _failed(round_, resource, round_.state.resources[resource].node, None, describe_series(memory), False)


def remember(round_: Round, resource: str, target: str | None, origin: str | None, exit_code: int) -> None:
    """Records how a motion ended, where that changes what is remembered.

    The balancer's own motions are recorded by the balancer, which knows what they were for.
    """
    if target is None or policy(round_) == OFF or exit_code == IGNORED or (origin or "").startswith("motion/"):
        return
    memory = round_.state.balance
    if exit_code == SUCCESS:
        if (resource, target) in memory.failures or target in memory.nodes:
            round_.batch.emit("motion.moved", resource, about=f"to {target}", target=target)
        return
    record = round_.state.resources[resource]
    _failed(round_, resource, target, origin, record.trouble or f"exit code {exit_code}", record.node_trouble)


def _failed(round_: Round, resource: str, target: str, origin: str | None, reason: str, node_trouble: bool) -> None:
    memory = round_.state.balance
    before = memory.failures.get((resource, target))
    attempts = 1 if before is None else before.attempts + 1
    skip = min(2 ** min(attempts - 1, LARGEST_EXPONENT), LONGEST_SKIP) if policy(round_) == "series" else None
    round_.batch.emit(
        "motion.failed",
        resource,
        about=f"to {target}, attempt {attempts}: {reason}",
        target=target,
        origin=origin,
        attempts=attempts,
        policy=policy(round_),
        until=round_.inputs.at + _wait(round_, attempts),
        first_series=None if skip is None else memory.series + 1 + skip,
        reason=reason,
        whole_node=node_trouble,
    )
    _pause_node(round_, target)


def _pause_node(round_: Round, target: str) -> None:
    """Leaves a node alone when too many motions to it failed for a reason that holds for the whole of it."""
    limit, now = round_.crs("ha-motion-node-breaker"), round_.inputs.at
    trouble = round_.state.balance.nodes.get(target)
    if not limit or trouble is None or trouble.failures < limit or (trouble.until is not None and now < trouble.until):
        return
    until = now + _wait(round_, trouble.pauses + 1)
    about = f"{trouble.failures} motions failed: {trouble.reason}"
    round_.batch.emit(
        "motion.node_paused", target, about=about, until=until, failures=trouble.failures, reason=trouble.reason
    )


def _wait(round_: Round, attempts: int) -> float:
    base, longest = round_.crs("ha-auto-rebalance-backoff-base"), round_.crs("ha-auto-rebalance-backoff-max")
    return float(min(base * 2 ** min(attempts - 1, LARGEST_EXPONENT), longest))


def targets(
    round_: Round,
    resources: Collection[str],
    preferred: AbstractSet[str],
    legal: AbstractSet[str],
    *,
    must: bool,
) -> AbstractSet[str]:
    """Returns the nodes among which one may be chosen now.

    Args:
        round_: the round.
        resources: those that would move.
        preferred: the best nodes that are legal.
        legal: all that are.
        must: a node that failed is better than none, as for a resource that runs nowhere.
    """
    for nodes in (preferred, legal):
        good = {node for node in nodes if not any(_left_out(round_, resource, node) for resource in resources)}
        if good:
            return good
    for nodes in (preferred, legal):
        due = {node for node in nodes if not any(waits(round_, resource, node) for resource in resources)}
        if due:
            return due
    return preferred if must else frozenset()


def _left_out(round_: Round, resource: str, node: str) -> bool:
    """Returns whether a pair is better avoided."""
    memory = round_.state.balance
    failure = memory.failures.get((resource, node))
    if failure is not None and failure.first_series is not None and memory.series < failure.first_series:
        return True
    return waits(round_, resource, node)


def waits(round_: Round, resource: str, node: str) -> bool:
    """Returns whether a pair, or the whole node, must not be tried right now even if there is nothing else."""
    memory, now = round_.state.balance, round_.inputs.at
    if memory.node_rests(node, now):
        return True
    failure = memory.failures.get((resource, node))
    return failure is not None and now < _due(round_, failure)


def _due(round_: Round, failure: Failure) -> float:
    return failure.until if failure.until is not None else failure.at + _wait(round_, failure.attempts)
