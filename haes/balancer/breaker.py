"""The breaker: after many failed motions in a row, whatever the pairs, the balancer as a whole pauses."""

from haes.manager.context import Round

# The first pause, and the longest, seconds; it doubles in between.
FIRST_PAUSE = 600
LONGEST_PAUSE = 12 * 3600


def is_open(round_: Round) -> bool:
    """Returns whether the balancer pauses now, after recording a pause that begins or ends."""
    limit = round_.crs("ha-auto-rebalance-breaker")
    memory, now = round_.state.balance, round_.inputs.at
    if not limit:
        return False
    if memory.failed_in_a_row >= limit and memory.failed_in_a_row > memory.paused_failures:
        pause = min(FIRST_PAUSE * 2**memory.pauses, LONGEST_PAUSE)
        round_.batch.emit(
            "balance.paused",
            "balance",
            about=f"{memory.failed_in_a_row} failed motions in a row",
            until=now + pause,
            failures=memory.failed_in_a_row,
            minutes=pause // 60,
        )
        return True
    if memory.paused_until is None:
        return False
    if now < memory.paused_until:
        return True
    round_.batch.emit("balance.resumed", "balance", about="one trial motion", reason="trial")
    return False
