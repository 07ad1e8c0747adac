"""Putting another log in the place of what is left of one, on Redis; only here entries are written as they were.

Knows nothing of where the entries come from. They are written beside the log first; then one script looks once more at
what is there and puts them in its place.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from events.codec import encode_data
from events.envelope import Event
from events.errors import LogConflict, LogMissing
from events.log import scripts
from events.log.port import Head, RawEntry
from events.log.redis import RedisLog
from events.log.redis_errors import translated

_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Replacement:
    """A log that is to be.

    Attributes:
        log_id: of the log.
        generation: higher than that of any token that anybody may still hold.
        n: number of its last event.
        last_id: stream id of that event.
        last_at: the last domain time that is known, in seconds.
        epoch: of the event that tells of the replacement.
        versions: subject -> number of its events, that event included.
        epochs: lease -> highest epoch that may have been given out.
        snapshots: number -> snapshot.
    """

    log_id: str
    generation: int
    n: int
    last_id: str
    last_at: float
    epoch: int
    versions: Mapping[str, int]
    epochs: Mapping[str, int]
    snapshots: Mapping[int, bytes] = field(default_factory=dict)


async def head_or_none(log: RedisLog) -> Head | None:
    """Returns where a log ends, None where there is none."""
    try:
        return await log.head()
    except LogMissing:
        return None


async def replace_log(
    log: RedisLog,
    seen: Head | None,
    leader_lease: str,
    replacement: Replacement,
    entries: AsyncIterator[list[RawEntry]],
    told: Event,
) -> int:
    """Replaces a log and returns the number of the event that tells of it.

    Args:
        log: where; open, `whole` being False.
        seen: the head that was there when this was decided.
        leader_lease: the lease without whose holder nobody decides.
        replacement: what is to be.
        entries: its events, undecoded, without a gap up to the last one.
        told: the event that tells of it; its number, id, time and epoch are given to it here.

    Raises:
        LogConflict: somebody leads, or the log changed since it was looked at; nothing was changed.
        LogUnavailable: the server cannot be reached.
    """
    keys, server = log.keys, log.server_of_log
    staged = keys.side("restoring")
    with translated(log.shown):
        await server.execute("DEL", staged)
        async for chunk in entries:
            async with server.commands.pipeline(transaction=False) as pipe:
                for entry_id, flat in chunk:
                    pipe.execute_command("XADD", staged, entry_id, *flat)
                await pipe.execute()
        leases = [name.decode() for name in await server.execute("HKEYS", keys.epochs)]
        others = sorted({*leases, *replacement.epochs} - {leader_lease})
        there = ("", "", "") if seen is None else (seen.log_id, str(seen.generation), str(seen.n))
        arguments: list[bytes | str | int] = [*there, replacement.log_id, replacement.generation]
        arguments += [replacement.n, replacement.last_id, int(replacement.last_at * _MICRO), server.run_id or ""]
        arguments += [told.type, told.subject, told.by, replacement.epoch, told.about, encode_data(told)]
        for pairs in (replacement.versions, replacement.epochs):
            arguments.append(len(pairs))
            for pair in pairs.items():
                arguments += pair
        log_keys = [keys.head, keys.events, keys.versions, keys.done, keys.results, keys.epochs, keys.snapshot, staged]
        reply = await server.run(
            scripts.REPLACE, [*log_keys, *(keys.lease(name) for name in (leader_lease, *others))], arguments
        )
    if reply[0] == b"LED":
        raise LogConflict(f"{reply[1].decode()} leads; nothing was changed")
    if reply[0] == b"MOVED":
        raise LogConflict("the log changed while this was prepared; nothing was changed")
    for n, data in replacement.snapshots.items():
        await log.put_snapshot(n, data)
    return int(reply[1])
