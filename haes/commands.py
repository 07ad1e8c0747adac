"""How an operator's command reaches the stream: as an event that waits for the leader's next round."""

from collections.abc import Sequence

from events.errors import StaleDecision
from events.log.port import EventLog
from haes.state.batch import Batch
from haes.state.restore import restore_state

# Seconds for which a sender holds the lease under which commands are appended: one append and a few repeats.
LEASE_TERM = 30.0
LEASE = "operator"
# How often a command is decided again because somebody else's came in between.
TRIES = 10


async def send_command(log: EventLog, verb: str, arguments: Sequence[str], user: str) -> int:
    """Appends a command and returns its number.

    Raises:
        LeaseHeld: somebody else is sending a command right now.
        StaleDecision: others' commands came in between again and again.
    """
    token = await log.acquire(LEASE, user, ttl=LEASE_TERM)
    text = " ".join([verb, *(argument for argument in arguments if argument)])
    try:
        for attempt in range(TRIES):
            state = await restore_state(log)
            number = state.command_count + 1
            batch = Batch(None, f"operator/{user}", await log.now())
            batch.emit(
                "command.received",
                "commands",
                about=text,
                correlation=f"command/{number}",
                id=number,
                verb=verb,
                arguments=list(arguments),
                text=text,
                user=user,
            )
            try:
                await log.append(batch.events, token=token, expect=batch.expected_versions(state))
            except StaleDecision:
                if attempt == TRIES - 1:
                    raise
                continue
            return number
    finally:
        await log.release(token)
    raise AssertionError("the loop either returns or raises")
