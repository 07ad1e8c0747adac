"""Events as they come, through outages; for those who only look. Keeps no state: that is what a replica does."""

import asyncio
from collections.abc import AsyncIterator, Callable

from events.envelope import Event
from events.errors import LogTruncated, LogUnavailable
from events.log.port import START_ID, Checkpoint, EventLog
from events.readers import Registration
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
    try:
        [last] = await log.read(n - 1, count=1, lenient=True)
    except LogTruncated:
        # Trimmed up to this very event: nothing is missing if the next one is there.
        await log.read(n, count=1, lenient=True)
        return Checkpoint(head.log_id, START_ID, n)
    return Checkpoint(head.log_id, last.id, last.n)


async def follow(log: EventLog, after: int) -> AsyncIterator[Event]:
    """Yields every event after a number, for ever; an outage is said once and waited out."""
    position, outage = await position_after(log, after), Outage()
    while True:
        for event in await _news(log, position, outage):
            position = position.after(event)
            yield event


async def follow_registered(
    log: EventLog, registration: Registration, flush: Callable[[], None], *, wait: bool
) -> AsyncIterator[Event]:
    """Yields what a registered reader has not read yet, and notes it as read once the reader asks for more.

    Args:
        log: the log.
        registration: of the reader, begun.
        flush: called before events are noted as read; makes sure that the reader cannot lose them any more.
        wait: go on with what comes, for ever.

    Raises:
        Fenced: somebody else reads under this name now.
    """
    position, outage = await position_after(log, registration.position), Outage()
    end = (await log.head()).n
    while wait or position.n < end:
        for event in await _news(log, position, outage):
            position = position.after(event)
            yield event
        if position.n > registration.position:
            flush()
            try:
                await registration.advance(position.n)
            except LogUnavailable as error:
                # Noted with the next news; until then more is kept for this reader than it needs.
                outage.begin(error)


async def _news(log: EventLog, position: Checkpoint, outage: Outage) -> list[Event]:
    """Waits a while for what comes after a position; an outage is said once, and nothing is new meanwhile."""
    try:
        news = await log.wait(position, FOLLOW_INTERVAL, lenient=True)
    except LogUnavailable as error:
        outage.begin(error)
        await asyncio.sleep(RETRY_INTERVAL)
        return []
    outage.end()
    return news
