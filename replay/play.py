"""Plays events in their own time, faster or slower; knows nothing of what they say."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from events.envelope import Event


async def play(
    events: AsyncIterator[Event],
    speed: float,
    *,
    clock: Callable[[], float] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[Event]:
    """Yields events when their time has come, counted from the first of them.

    Args:
        events: in the order of the stream.
        speed: seconds of domain time in one second; 0 for no waiting at all.
        clock: returns seconds; of the running loop when nothing is said.
        sleep: waits so many seconds.
    """
    now = clock or asyncio.get_running_loop().time
    begin: tuple[float, float] | None = None
    async for event in events:
        if begin is None:
            begin = (now(), event.at)
        elif speed:
            # Counted from the beginning, so that what printing takes does not add up.
            left = begin[0] + (event.at - begin[1]) / speed - now()
            if left > 0:
                await sleep(left)
        yield event
