"""The log in memory, for simulations and tests: the promises of the port without a server; knows nothing of Redis.

It keeps the bytes that a stream would keep, so that whatever does not survive the encoding shows here, too.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from events.codec import FIELDS, encode_fields
from events.envelope import Event
from events.errors import HaesError
from events.ids import new_id
from events.log.checks import check_alive, check_batch, check_position, decode_after, fenced, held_by, missing, stale
from events.log.memory_side import MemorySideStreams
from events.log.port import (
    NO_RIGHT,
    READ_COUNT,
    START_ID,
    Appended,
    Batch,
    Checkpoint,
    EventLog,
    Head,
    LeaseInfo,
    RawEntry,
    Right,
    Token,
)
from events.log.side import SideStreams

_N, _TYPE, _SUBJECT, _BY, _AT, _EPOCH, _ABOUT, _DATA = FIELDS


@dataclass(slots=True)
class _Lease:
    """A lease as it is kept; `expires` is in domain time, `term` the seconds that the holder asked for."""

    owner: str
    epoch: int
    nonce: str
    term: float | None
    expires: float | None
    note: dict[str, str] = field(default_factory=dict)


class MemoryLog(EventLog):
    """A log that lives as long as this object."""

    def __init__(self, cluster: str, *, clock: Callable[[], float] = time.time) -> None:
        """Creates an empty log.

        Args:
            cluster: name of the cluster.
            clock: returns the time in seconds; virtual in a simulation.
        """
        self.cluster = cluster
        self._clock = clock
        # The last domain time, and what the clock lacks since it was set back.
        self._time = float("-inf")
        self._offset = 0.0
        self._head: Head | None = Head(new_id(), 1, 0, START_ID)
        self._milliseconds = 0
        self._entries: list[RawEntry] = []
        self._trimmed = 0  # number of entries that were removed from the start
        self._versions: dict[str, int] = {}
        self._leases: dict[str, _Lease] = {}
        self._epochs: dict[str, int] = {}
        # Kept for good: this log does not outlive its process.
        self._done: dict[str, Appended] = {}
        self._grown = asyncio.Event()
        self._snapshots: dict[int, bytes] = {}
        self._side = MemorySideStreams(clock)

    @property
    def side(self) -> SideStreams:
        """See EventLog."""
        return self._side

    async def open(self) -> None:
        """Does nothing: it is always ready."""

    async def close(self) -> None:
        """Does nothing: what it keeps can still be read."""

    async def head(self) -> Head:
        """See EventLog."""
        return self._known_head()

    async def now(self) -> float:
        """See EventLog."""
        return self._now()

    async def raise_generation(self, above: int) -> int:
        """See EventLog."""
        head = self._known_head()
        generation = max(head.generation, above) + 1
        self._head = Head(head.log_id, generation, head.n, head.last_id)
        return generation

    async def acquire(
        self,
        lease: str,
        owner: str,
        *,
        ttl: float | None = None,
        seize: bool = False,
        above: Right = NO_RIGHT,
    ) -> Token:
        """See EventLog."""
        head, now = self._known_head(), self._now()
        held = self._leases.get(lease)
        if held and not seize and (held.expires is None or now < held.expires):
            raise held_by(lease, held.owner, None if held.expires is None else held.expires - now)
        generation, known = above
        if generation > head.generation:
            head = self._head = replace(head, generation=generation + 1)
        epoch = max(self._epochs.get(lease, 0), known if generation == head.generation else 0) + 1
        self._epochs[lease] = epoch
        nonce = new_id()
        self._leases[lease] = _Lease(owner, epoch, nonce, ttl, None if ttl is None else now + ttl)
        return Token(head.generation, lease, epoch, nonce)

    async def renew(self, token: Token, *, ttl: float | None, note: Mapping[str, str] | None = None) -> None:
        """See EventLog."""
        lease = self._held(token)
        lease.term, lease.expires = ttl, None if ttl is None else self._now() + ttl
        if note is not None:
            lease.note = dict(note)

    async def release(self, token: Token) -> None:
        """See EventLog."""
        if self._why_fenced(token) is None:
            del self._leases[token.lease]

    async def leases(self) -> dict[str, LeaseInfo]:
        """See EventLog."""
        now = self._now()
        return {
            name: LeaseInfo(
                lease.owner, lease.epoch, None if lease.expires is None else lease.expires - now, dict(lease.note)
            )
            for name, lease in self._leases.items()
        }

    async def append(
        self,
        events: Sequence[Event],
        *,
        token: Token,
        expect: Mapping[str, int] | None = None,
        command: str | None = None,
    ) -> Appended:
        """See EventLog."""
        check_batch(events)
        head = self._known_head()
        if command is not None and command in self._done:
            return self._done[command]
        self._held(token)
        for subject, expected in (expect or {}).items():
            actual = self._versions.get(subject, 0)
            if actual != expected:
                raise stale(subject, expected, actual)
        now = self._now()
        self._milliseconds = max(self._milliseconds, int(now * 1000))
        epoch = b"%d" % token.epoch
        n = head.n
        entries: list[RawEntry] = []
        for event in events:
            n += 1
            type_, subject_, by, at, _, about, data = encode_fields(event)
            entry_id = b"%d-%d" % (self._milliseconds, n)
            number = b"%d" % n
            flat = [
                *(_N, number, _TYPE, type_, _SUBJECT, subject_, _BY, by),
                *(_AT, at, _EPOCH, epoch, _ABOUT, about, _DATA, data),
            ]
            entries.append((entry_id, flat))
        # Nothing is kept before everything could be encoded.
        self._entries += entries
        for event in events:
            self._versions[event.subject] = self._versions.get(event.subject, 0) + 1
        ids = tuple(entry_id.decode() for entry_id, _ in entries)
        self._head = Head(head.log_id, head.generation, n, ids[-1])
        if command is not None:
            self._done[command] = Appended(head.n + 1, ids, now, repeated=True)
        self._grown.set()
        return Appended(head.n + 1, ids, now, repeated=False)

    async def append_many(self, batches: Sequence[Batch]) -> list[Appended | HaesError]:
        """See EventLog."""
        results: list[Appended | HaesError] = []
        for batch in batches:
            try:
                results.append(
                    await self.append(batch.events, token=batch.token, expect=batch.expect, command=batch.command)
                )
            except HaesError as error:
                results.append(error)
        return results

    async def versions(self, subjects: Iterable[str]) -> dict[str, int]:
        """See EventLog."""
        return {subject: self._versions.get(subject, 0) for subject in subjects}

    async def read(self, after: int = 0, *, count: int = READ_COUNT, lenient: bool = False) -> list[Event]:
        """See EventLog."""
        self._known_head()
        return decode_after(after, self._slice(after, count), lenient=lenient)

    async def raw_chunks(self, after: int = 0, *, count: int = READ_COUNT) -> AsyncGenerator[list[RawEntry], None]:
        """See EventLog."""
        self._known_head()
        while chunk := self._slice(after, count):
            yield chunk
            after = max(after, self._trimmed) + len(chunk)

    async def attach(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """See EventLog."""
        head = self._known_head()
        first_n = self._trimmed + 1 if self._entries else None
        entry_n = None
        if checkpoint and self._trimmed < checkpoint.n <= head.n:
            entry_id, _ = self._entries[checkpoint.n - self._trimmed - 1]
            entry_n = checkpoint.n if entry_id.decode() == checkpoint.id else None
        return check_position(checkpoint, head, first_n, entry_n)

    async def wait(
        self,
        checkpoint: Checkpoint,
        timeout: float,  # noqa: ASYNC109 - as in the port
        *,
        lenient: bool = False,
    ) -> list[Event]:
        """See EventLog."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    if events := await self.wait_once(checkpoint, lenient=lenient):
                        return events
                    self._grown.clear()
                    await self._grown.wait()
        except TimeoutError:
            return []

    async def wait_once(self, checkpoint: Checkpoint, *, lenient: bool = False) -> list[Event]:
        """Returns what `wait` does, without waiting."""
        check_alive(checkpoint, self._known_head())
        if checkpoint.n > self._trimmed and checkpoint.id != START_ID:
            at, _ = self._entries[checkpoint.n - self._trimmed - 1]
            # Entries that are no events stand behind the number before them.
            if at != checkpoint.id.encode() and not any(at == checkpoint.id.encode() for at, _ in self._entries):
                await self.attach(checkpoint)
        return await self.read(checkpoint.n, lenient=lenient)

    async def trim(self, up_to: int) -> int:
        """See EventLog."""
        count = max(0, min(up_to, self._known_head().n - 1) - self._trimmed)
        del self._entries[:count]
        self._trimmed += count
        return count

    async def snapshot_numbers(self) -> list[int]:
        """See EventLog."""
        return sorted(self._snapshots)

    async def get_snapshot(self, n: int) -> bytes | None:
        """See EventLog."""
        return self._snapshots.get(n)

    async def put_snapshot(self, n: int, data: bytes) -> None:
        """See EventLog."""
        self._snapshots[n] = data

    async def drop_snapshot(self, n: int) -> None:
        """See EventLog."""
        self._snapshots.pop(n, None)

    def adopt(self) -> None:
        """Another server keeps the log from now on: every lease that had not run out before gets a full term."""
        last, now = self._time, self._now()
        for lease in self._leases.values():
            if lease.term is not None and lease.expires is not None and lease.expires > last:
                lease.expires = now + lease.term

    def fork(self) -> "MemoryLog":
        """Returns what a replica has that hears of nothing more: a log of its own that begins as this one is now."""
        twin = MemoryLog(self.cluster, clock=self._clock)
        twin._time, twin._offset = self._time, self._offset
        twin._head, twin._milliseconds, twin._trimmed = self._head, self._milliseconds, self._trimmed
        twin._entries, twin._versions = list(self._entries), dict(self._versions)
        twin._leases = {name: replace(lease) for name, lease in self._leases.items()}
        twin._epochs, twin._done = dict(self._epochs), dict(self._done)
        twin._snapshots, twin._side = dict(self._snapshots), self._side.fork()
        return twin

    def _known_head(self) -> Head:
        if self._head is None:
            raise missing(self.cluster)
        return self._head

    def _now(self) -> float:
        now = self._clock() + self._offset
        if now < self._time:
            self._offset += self._time - now
            now = self._time
        self._time = now
        return now

    def _slice(self, after: int, count: int) -> list[RawEntry]:
        start = max(0, after - self._trimmed)
        return self._entries[start : start + count]

    def _why_fenced(self, token: Token) -> str | None:
        """Says why a token is not good, or None when it is."""
        head = self._known_head()
        lease = self._leases.get(token.lease)
        if token.generation != head.generation:
            return f"the log is at generation {head.generation}"
        if lease is None:
            return "nobody holds the lease"
        if (lease.epoch, lease.nonce) != (token.epoch, token.nonce):
            return f"it belongs to {lease.owner} at epoch {lease.epoch}"
        if lease.expires is not None and self._now() >= lease.expires:
            return "it has run out"
        return None

    def _held(self, token: Token) -> _Lease:
        why = self._why_fenced(token)
        if why is not None:
            raise fenced(token, why)
        return self._leases[token.lease]
