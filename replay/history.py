"""Opens the history of a log for questions about the past, and reads of it only what a question needs."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

from events.codec import SUBJECT, TYPE, decode_entry
from events.envelope import Event
from events.errors import EntryCorrupt, EventUnknown, UserError
from events.history import History
from events.log.port import EventLog
from haes.state.restore import replay_state

Wanted = Callable[[bytes, bytes], bool]


async def open_history(log: EventLog, folder: Path | None, *, lenient: bool = True) -> History:
    """Returns a history whose archived part is compared with what the log recorded of it.

    Args:
        log: the log.
        folder: where archived segments lie, or None to read the stream alone.
        lenient: let stand-ins take the place of entries that cannot be understood, so that one bad entry parks its
            subject and does not keep everything else from being asked about.

    Raises:
        UserError: there is no such folder, or the archive is damaged.
        LogFault: as by `replay_state`.
    """
    history = History(log, folder, lenient=lenient)
    if folder is None:
        return history
    if not folder.is_dir():  # noqa: ASYNC240 - a folder is looked at once
        raise UserError(f"--archive {folder}: there is no such folder")
    if await history.first_in_stream() == 1:
        return history
    # The records may lie anywhere, also in the archive; the state at the end knows them all.
    return History(log, folder, (await replay_state(history)).archived, lenient=lenient)


async def wanted_events(
    history: History, wanted: Wanted, last: int | None = None, after: int = 0
) -> AsyncGenerator[Event, None]:
    """Yields the events after a number, up to another, whose type and subject are wanted; decodes none of the others.

    Args:
        history: where to read.
        wanted: says, from the bytes of type and subject, whether an event is wanted.
        last: number of the last event to look at, or None for all.
        after: number of the event before the first to look at.

    Raises:
        LogFault: as by `History.chunks`, or a wanted event cannot be understood.
    """
    async with aclosing(history.chunks(after, last)) as chunks:
        async for chunk in chunks:
            for entry_id, flat in chunk:
                if len(flat) > SUBJECT and wanted(flat[TYPE], flat[SUBJECT]):
                    try:
                        yield decode_entry(entry_id, flat)
                    except (EntryCorrupt, EventUnknown):
                        if not history.lenient:
                            raise
