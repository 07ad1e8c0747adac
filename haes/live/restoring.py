"""A way back when the stream is lost: one log is put together of everything that still has a part of it.

Parts are what still lies at the log's place, other logs (an older copy of its file), and an archive; of one log only,
by its id. Where events are missing, the newest snapshot that this program can read stands for them. Decides what a
restored log would be, and says what it would lack; writing it is `events/log/redis_replace.py`'s.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import msgpack

from events.archive import numbered, read_blocks, segments_in
from events.codec import AT, EPOCH, SUBJECT, TYPE, decode_time
from events.envelope import Event
from events.errors import LogConflict, UserError
from events.log.checks import number_of
from events.log.port import EventLog, Head, LeaseInfo, RawEntry
from events.log.redis import RedisLog
from events.log.redis_replace import Replacement, head_or_none, replace_log
from events.schema import check_payload
from haes.live.presence import agent_lease, is_over
from haes.live.requests import KIND
from haes.live.seed import LEASE as OPERATOR_LEASE
from haes.state.cluster import ClusterState
from haes.state.fold_raw import RawFold
from haes.state.snapshot import decode_state

LEADER_LEASE = "leader"
# Leases that no event's author names.
_OTHER_LEASES = (LEADER_LEASE, OPERATOR_LEASE, "archivist")
# Lost events that are named; the others are counted.
LOST_NAMED = 100
START = (0, "0-0")

Chunks = AsyncGenerator[list[RawEntry], None]
# A position: number and stream id of an event.
Position = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Part:
    """Something that has events of a log.

    Attributes:
        name: for people.
        log_id: of the log.
        known_n: the number up to which it says that there were events.
        generation: of the log when this was written; 0 when it does not say.
        read: yields the entries after a number, as far as they are there.
        snapshots: number -> snapshot.
    """

    name: str
    log_id: str
    known_n: int
    generation: int
    read: Callable[[int], Chunks]
    snapshots: dict[int, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Plan:
    """What a restored log would be.

    Attributes:
        log_id: of the log.
        found: the head that lies at its place now.
        leader: who leads there, None when nobody does.
        generation: the new one.
        known_n: the highest number that is known to have been there.
        base: the snapshot that it begins with, `START` for none.
        end: its last event.
        used: (part, first event, last event), in order.
        refused: what was not used and why.
        state: the state that it leads to.
        last_at: the time of its last event.
        epoch: the highest of all.
        lost: events that are known and will not be there, and the number and kinds of those of another log.
        discarded: type -> number of events of another log that lies at its place now.
        requests: user -> number of requests that wait.
        snapshots: number -> snapshot that is kept.
        complete: what lies at its place now is what would be restored.
    """

    log_id: str
    found: Head | None
    leader: str | None = None
    generation: int = 1
    known_n: int = 0
    base: Position = START
    end: Position = START
    used: list[tuple[Part, int, int]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    state: ClusterState = field(default_factory=ClusterState)
    last_at: float = 0.0
    epoch: int = 0
    lost: list[tuple[int, str, str]] = field(default_factory=list)
    discarded: dict[str, int] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    snapshots: dict[int, bytes] = field(default_factory=dict)
    complete: bool = False


async def part_of_log(name: str, log: EventLog, head: Head | None) -> Part | None:
    """Returns what a log has, None when it is empty."""
    if head is None or not head.n:
        return None

    async def read(after: int) -> Chunks:
        async with aclosing(log.raw_chunks(after)) as chunks:
            async for chunk in chunks:
                yield numbered(chunk)

    snapshots: dict[int, bytes] = {}
    for n in await log.snapshot_numbers():
        data = await log.get_snapshot(n)
        if data is not None:
            snapshots[n] = data
    return Part(name, head.log_id, head.n, head.generation, read, snapshots)


def part_of_archive(folder: Path) -> Part:
    """Returns what an archive has.

    Raises:
        UserError: it has nothing, or its segments are of several logs.
    """
    segments = segments_in(folder)
    if not segments:
        raise UserError(f"{folder}: there are no segments here")
    log_ids = {_log_id(segment.path) for segment in segments}
    if len(log_ids) > 1:
        raise UserError(f"{folder}: its segments are of several logs ({', '.join(sorted(log_ids))})")

    async def read(after: int) -> Chunks:
        fitting = [segment for segment in segments if segment.first <= after + 1 <= segment.last]
        while fitting:
            for block in read_blocks(max(fitting, key=lambda segment: segment.last)):
                rest = [entry for entry in block if number_of(entry) > after]
                if rest:
                    after = number_of(rest[-1])
                    yield rest
            fitting = [segment for segment in segments if segment.first <= after + 1 <= segment.last]

    return Part(str(folder), log_ids.pop(), segments[-1].last, 0, read)


def _log_id(path: Path) -> str:
    import gzip  # noqa: PLC0415 - only to look at a header

    with gzip.open(path) as file:
        header = next(msgpack.Unpacker(file, raw=False, strict_map_key=False))
    return str(header[2])


async def make_plan(log: RedisLog, name: str, parts: Sequence[Part]) -> Plan:
    """Returns what can be restored at the place of a log from what is there and from other parts.

    Args:
        log: where; open, `whole` being False.
        name: how to call it.
        parts: what else there is; first come, first used.

    Raises:
        UserError: the parts are of several logs, or nothing leads to a state.
    """
    found = await head_or_none(log)
    here = await part_of_log(name, log, found)
    log_ids = {part.log_id for part in parts} or ({here.log_id} if here else set())
    if len(log_ids) != 1:
        of = ", ".join(f"{part.name} of {part.log_id}" for part in parts)
        raise UserError(f"{name}: nothing is there to restore from" if not log_ids else f"parts of several logs: {of}")
    plan = Plan(log_ids.pop(), found)
    leases = {} if found is None else await log.leases()
    plan.leader = _leader(leases)
    if here is not None and here.log_id == plan.log_id:
        parts = (here, *parts)
    elif here is not None:
        plan.discarded = await _kinds(here)
    await _find_events(plan, parts)
    known = max(part.known_n for part in parts)
    plan.known_n = max(known, plan.end[0])
    plan.generation = 1 + max(part.generation for part in (*parts, *([here] if here else [])))
    for lease in leases.values():
        plan.epoch = max(plan.epoch, lease.epoch)
    plan.requests = await _waiting(log, plan.state)
    if here is not None and plan.end[0] == here.known_n and all(part is here for part, _, _ in plan.used):
        async with aclosing(here.read(here.known_n - 1)) as chunks:
            plan.complete = bool(await anext(chunks, []))
    return plan


def _leader(leases: dict[str, LeaseInfo]) -> str | None:
    lease = leases.get(LEADER_LEASE)
    return None if lease is None or is_over(lease) else lease.owner


async def _kinds(part: Part) -> dict[str, int]:
    counter: Counter[str] = Counter()
    async with aclosing(part.read(0)) as chunks:
        async for chunk in chunks:
            counter.update(flat[TYPE].decode(errors="replace") for _, flat in chunk)
    return dict(sorted(counter.items()))


async def _find_events(plan: Plan, parts: Sequence[Part]) -> None:
    """Finds how far events lead from the beginning, or from the newest good snapshot where that leads further."""
    await _follow(plan, parts)
    newest = next(_good_snapshots(plan.log_id, parts), None)
    if newest is not None and newest[0][0] > plan.end[0]:
        position, state, data, name = newest
        gap = f"events {plan.end[0] + 1} to {position[0]} are gone; a snapshot of {name} stands for them"
        plan.base, plan.end, plan.state, plan.snapshots = position, position, state, {position[0]: data}
        plan.last_at, plan.epoch, plan.used = state.at, max(plan.epoch, state.epoch), []
        plan.refused.append(gap)
        await _follow(plan, parts)
    lost: dict[int, tuple[str, str]] = {}
    for part in parts:
        await _add_lost(lost, plan.end[0], part)
    plan.lost = [(n, *what) for n, what in sorted(lost.items())]
    if not plan.end[0]:
        raise UserError(
            "nothing leads to a state: the log's beginning is nowhere, and no snapshot stands for it; "
            "name an archive (--archive) or an older copy of the log (--from)"
        )


def _good_snapshots(log_id: str, parts: Sequence[Part]) -> Iterator[tuple[Position, ClusterState, bytes, str]]:
    """Yields snapshots of a log that this program can read, latest first."""
    everything = [(n, data, part.name) for part in parts for n, data in part.snapshots.items()]
    for n, data, name in sorted(everything, key=lambda item: item[0], reverse=True):
        try:
            of, entry_id, packed = msgpack.unpackb(data)
        except (ValueError, TypeError, msgpack.exceptions.UnpackException):
            continue
        state = decode_state(packed) if of == log_id else None
        if state is not None and state.n == n:
            yield (n, entry_id), state, data, name


async def _follow(plan: Plan, parts: Sequence[Part]) -> None:
    """Goes on from the plan's end with whichever part has the next event, as long as one has."""
    fold = RawFold(plan.state, lenient=True)
    forked: set[str] = set()
    advanced = True
    while advanced:
        advanced = False
        for part in parts:
            begin = plan.end[0]
            if part.name in forked or not await _fits(part, plan.end, forked, plan.refused):
                continue
            async with aclosing(_contiguous(part, begin)) as chunks:
                async for chunk in chunks:
                    fold.take(chunk)
                    plan.end = (number_of(chunk[-1]), chunk[-1][0].decode())
                    plan.last_at = max(plan.last_at, decode_time(chunk[-1][1][AT]))
                    plan.epoch = max(plan.epoch, *(int(flat[EPOCH]) for _, flat in chunk))
            if plan.end[0] > begin:
                plan.used.append((part, begin + 1, plan.end[0]))
                advanced = True


async def _fits(part: Part, end: Position, forked: set[str], refused: list[str]) -> bool:
    """Returns whether a part goes on from a position: where it has the event there, it must be the same one."""
    if not end[0]:
        return True
    async with aclosing(part.read(end[0] - 1)) as chunks:
        first = next(iter(await anext(chunks, [])), None)
    if first is None or number_of(first) != end[0] or first[0].decode() == end[1]:
        return True
    forked.add(part.name)
    refused.append(f"{part.name}: its event {end[0]} is another one; what it has from there on is not used")
    return False


async def _contiguous(part: Part, after: int) -> Chunks:
    """Yields the entries after a number, up to the first gap."""
    async with aclosing(part.read(after)) as chunks:
        async for chunk in chunks:
            fresh = [entry for entry in chunk if number_of(entry) > after]
            good = [entry for place, entry in enumerate(fresh, after + 1) if number_of(entry) == place]
            if good:
                after = number_of(good[-1])
                yield good
            if len(good) < len(fresh):
                return


async def _add_lost(lost: dict[int, tuple[str, str]], end: int, part: Part) -> None:
    """Notes the events that a part has and the restored log will not."""
    async with aclosing(part.read(end)) as chunks:
        async for chunk in chunks:
            for entry in chunk:
                type_, subject = (entry[1][place].decode(errors="replace") for place in (TYPE, SUBJECT))
                if number_of(entry) > end:
                    lost.setdefault(number_of(entry), (type_, subject))


async def _waiting(log: RedisLog, state: ClusterState) -> dict[str, int]:
    """Returns user -> number of the requests in his stream that nobody has received."""
    waiting = {}
    for name in await log.side.names(KIND):
        user = name.partition(":")[2]
        entries = await log.side.read_all(name, state.requests.get(user, "0-0"))
        if entries:
            waiting[user] = len(entries)
    return waiting


async def carry_out(log: RedisLog, plan: Plan, by: str) -> int:
    """Puts the restored log in its place and returns the number of the event that tells of it.

    Raises:
        LogConflict: somebody leads, or the log changed since the plan was made; nothing was changed.
    """
    if plan.leader is not None:
        raise LogConflict(f"{plan.leader} leads; nothing was changed")
    versions = dict(plan.state.versions)
    versions["log"] = versions.get("log", 0) + 1
    epoch = plan.epoch + 1
    leases = {*_OTHER_LEASES, *map(agent_lease, {*plan.state.members, *plan.state.nodes})}
    leases |= {f"manager/{node}" for node in {*plan.state.members, *plan.state.nodes, *plan.state.managers}}
    payload = {
        "log_id": plan.log_id,
        "generation": plan.generation,
        "n": plan.end[0],
        "known_n": plan.known_n,
        "sources": [[part.name, first, last] for part, first, last in plan.used],
        "lost": [list(item) for item in plan.lost[:LOST_NAMED]],
        "discarded": plan.discarded,
    }
    about = f"up to event {plan.end[0]} of {plan.known_n}"
    version = check_payload("log.restored", payload)
    told = Event("log.restored", "log", by, 0, payload, version=version, about=about)
    replacement = Replacement(
        plan.log_id,
        plan.generation,
        plan.end[0],
        plan.end[1],
        plan.last_at,
        epoch,
        versions,
        dict.fromkeys(sorted(leases), epoch),
        plan.snapshots,
    )
    return await replace_log(log, plan.found, LEADER_LEASE, replacement, _entries(plan), told)


async def _entries(plan: Plan) -> Chunks:
    """Yields the entries of the restored log."""
    for part, first, last in plan.used:
        async with aclosing(_contiguous(part, first - 1)) as chunks:
            async for chunk in chunks:
                kept = [entry for entry in chunk if number_of(entry) <= last]
                if kept:
                    yield kept
                if len(kept) < len(chunk):
                    break
