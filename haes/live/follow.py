"""Events as they come, through outages; for those who only look. Keeps no state: that is what a replica does."""

import asyncio
from collections.abc import AsyncIterator

from events.envelope import Event
from events.errors import LogUnavailable
from events.log.port import Checkpoint, EventLog
from haes.live.outage import RETRY_INTERVAL, Outage

# Seconds that a follower waits in one go; no limit to anything, the next wait begins at once.
FOLLOW_INTERVAL = 1.0


async def position_after(log: EventLog, n: int) -> Checkpoint:
    """Returns the position of a reader that has read up to event `n`, 0 for none; stand-ins count as read.

    Raises:
        LogFault: the log does not have that event.
    """
    if not n:
        return await log.attach(None)
    head = await log.head()
    [last] = await log.read(n - 1, count=1, lenient=True)
    return Checkpoint(head.log_id, last.id, last.n)


async def follow(log: EventLog, after: int) -> AsyncIterator[Event]:
    """Yields every event after a number, for ever; an outage is said once and waited out."""
    position, outage = await position_after(log, after), Outage()
    while True:
        try:
            news = await log.wait(position, FOLLOW_INTERVAL, lenient=True)
        except LogUnavailable as error:
            outage.begin(error)
            await asyncio.sleep(RETRY_INTERVAL)
            continue
        outage.end()
        for event in news:
            position = position.after(event)
            yield event
