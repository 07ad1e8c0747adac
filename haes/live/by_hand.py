"""What an operator writes into the log himself, because no leader could do it for him."""

import getpass
from typing import Any

from events.log.port import EventLog
from haes.live.seed import LEASE, LEASE_TERM
from haes.state.batch import Batch


async def append_by_hand(log: EventLog, type_: str, subject: str, *, about: str, **payload: Any) -> None:
    """Appends one event in the name of whoever runs the program.

    Raises:
        LeaseHeld: somebody else does so right now.
    """
    by = f"operator/{getpass.getuser()}"
    token = await log.acquire(LEASE, by, ttl=LEASE_TERM)
    try:
        batch = Batch(None, by, await log.now())
        batch.emit(type_, subject, about=about, **payload)
        await log.append(batch.events, token=token)
    finally:
        await log.release(token)
