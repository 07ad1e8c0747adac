"""How motions ended, as the balancer records it; knows how outcomes become memory, not how motions are chosen."""

from haes.balancer.memory import FAILED, MOVED, Motion
from haes.exit_codes import SUCCESS
from haes.manager.context import Round
from haes.manager.motions import motion_queued_or_running

# A pair is left out for at most this many series, so that it is never left out for good.
LONGEST_SKIP = 1024
# Doubling a wait this often exceeds every maximum that makes sense; it keeps numbers small.
LARGEST_EXPONENT = 62


def motion_reference(number: int) -> str:
    """Returns how events refer to a motion."""
    return f"motion/{number}"


def record_report(round_: Round, resource: str, origin: str | None, exit_code: int) -> None:
    """Records the agent's report on a member of the open motion, right after its change of state (policy series).

    Reports on motions that others asked for, or that rules forced, say nothing about the balancer's choice.
    """
    motion = round_.state.balance.motion
    if (
        motion is None
        or motion.policy != "series"
        or origin != motion_reference(motion.number)
        or resource not in motion.open_members()
    ):
        return
    if resource not in round_.state.configurations:
        # It was deleted meanwhile: there is nothing left to remember anything about.
        _record_dropped(round_, motion, resource, "removed")
    elif exit_code == SUCCESS:
        record_moved(round_, motion, resource)
    else:
        record_failed(round_, motion, resource, f"exit code {exit_code}")
    end_series_when_restored(round_, motion)


def record_moved(round_: Round, motion: Motion, resource: str) -> None:
    """Records that a member arrived: it rests, and the pair's failures are forgotten."""
    cooldown = round_.crs("ha-auto-rebalance-cooldown")
    round_.batch.emit(
        "balance.moved",
        "balance",
        about=f"{resource} to {motion.target}",
        cause=motion_reference(motion.number),
        resource=resource,
        target=motion.target,
        cooldown_until=round_.inputs.at + cooldown if cooldown else None,
    )


def record_failed(round_: Round, motion: Motion, resource: str, reason: str) -> None:
    """Records that a member did not arrive: the pair is left out for a time, or for a number of series."""
    memory = round_.state.balance
    before = memory.failures.get((resource, motion.target))
    attempts = 1 if before is None else before.attempts + 1
    exponent = min(attempts - 1, LARGEST_EXPONENT)
    until: float | None = None
    skip: int | None = None
    if motion.policy == "time":
        base, longest = round_.crs("ha-auto-rebalance-backoff-base"), round_.crs("ha-auto-rebalance-backoff-max")
        until = round_.inputs.at + min(base * 2**exponent, longest)
    elif motion.policy == "series":
        skip = min(2**exponent, LONGEST_SKIP)
    round_.batch.emit(
        "balance.failed",
        "balance",
        about=f"{resource} to {motion.target}, attempt {attempts}",
        cause=motion_reference(motion.number),
        resource=resource,
        target=motion.target,
        verb=motion.verb,
        attempts=attempts,
        policy=motion.policy,
        until=until,
        skip=skip,
        first_series=None if skip is None else memory.series + 1 + skip,
        reason=reason,
    )


def _record_dropped(round_: Round, motion: Motion, resource: str, reason: str) -> None:
    round_.batch.emit(
        "balance.dropped",
        "balance",
        about=f"{resource} to {motion.target}",
        cause=motion_reference(motion.number),
        resource=resource,
        reason=reason,
    )


def settle_by_place(round_: Round) -> None:
    """Settles the open motion by where its members are now (policies time and none).

    A member that is still queued or moving leaves the motion open; one that is not on its target has failed, unless
    it is no longer looked after.
    """
    motion = round_.state.balance.motion
    if motion is None or motion.policy == "series":
        return
    members = motion.open_members()
    if any(motion_queued_or_running(round_.state, member) for member in members):
        return
    for member in members:
        record = round_.state.resources.get(member)
        if record is None:
            _record_dropped(round_, motion, member, "removed")
        elif record.node == motion.target:
            record_moved(round_, motion, member)
        else:
            record_failed(round_, motion, member, f"is on {record.node}")


def close_open_motion(round_: Round) -> None:
    """Closes a motion of which nothing is queued or moving any more: open members count as dropped (policy series)."""
    motion = round_.state.balance.motion
    if motion is None or motion.policy != "series":
        return
    for member in motion.open_members():
        _record_dropped(round_, motion, member, _why_dropped(round_, member))
    end_series_when_restored(round_, motion)


def _why_dropped(round_: Round, resource: str) -> str:
    record = round_.state.resources.get(resource)
    return "removed" if record is None else record.state


def end_series_when_restored(round_: Round, motion: Motion) -> None:
    """Ends the series when every member is settled, some moved and none failed.

    Args:
        round_: the round.
        motion: the motion as it was in the memory; its members' outcomes are current.
    """
    memory = round_.state.balance
    if memory.motion is not None:
        return
    outcomes = set(motion.members.values())
    if MOVED in outcomes and FAILED not in outcomes:
        end_series(round_, "moved")


def end_series(round_: Round, reason: str) -> None:
    """Begins the next series."""
    number = round_.state.balance.series + 1
    round_.batch.emit("balance.series", "balance", about=f"{number}, {reason}", number=number, reason=reason)
