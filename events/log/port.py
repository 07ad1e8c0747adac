"""The port of the event log: what every log promises, whatever it is made of; knows no server and no event type.

A log is a totally ordered list of events of one cluster, numbered from 1 without a gap. Writers hold leases; an append
is refused unless its token is the lease's current one, and unless every subject it names is still at the version it
was decided on.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from events.envelope import Event
from events.errors import HaesError
from events.log.side import SideStreams

# Entries per request when many are read. More makes a client slower for each entry, fewer waste round trips.
READ_COUNT = 1000
# The stream id before the first entry.
START_ID = "0-0"

# Types of the events that stand for entries that cannot be understood; nobody ever writes one.
UNREADABLE = "log.unreadable"
FOREIGN = "log.foreign"

# An undecoded entry: its stream id and its names and values in turn, `[n, v, type, v, ...]`. Always two items to
# unpack, in whatever kind of sequence the log had at hand.
RawEntry = tuple[bytes, list[bytes]]


# Generation and epoch: what tells the newer of two tokens of one lease; and a right that is older than all.
Right = tuple[int, int]
NO_RIGHT: Right = (0, 0)


@dataclass(frozen=True, slots=True)
class Token:
    """The right to append under a lease; it is good only as long as all four values are the current ones.

    Attributes:
        generation: of the log; it rises when a log lost its tail.
        lease: name of the lease.
        epoch: rises with every acquisition of the lease, never falls.
        nonce: tells apart two holders that a failover gave the same epoch.
    """

    generation: int
    lease: str
    epoch: int
    nonce: str

    @property
    def right(self) -> Right:
        """What tells the newer of two tokens of one lease."""
        return self.generation, self.epoch


@dataclass(frozen=True, slots=True)
class Head:
    """Where the log ends.

    Attributes:
        log_id: random, given when the log was created; another one means another log.
        generation: rises when the log lost its tail.
        n: sequence number of the last event, 0 for an empty log.
        last_id: stream id of the last event.
    """

    log_id: str
    generation: int
    n: int
    last_id: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A reader's position: the last event that it has read, `n == 0` before the first one."""

    log_id: str
    id: str
    n: int

    def after(self, event: Event) -> "Checkpoint":
        """Returns the position of a reader that has read this event too."""
        return replace(self, id=event.id, n=event.n)


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did.

    Attributes:
        first_n: sequence number of the batch's first event.
        ids: stream ids of the batch's events, in order.
        server_time: domain time of the append.
        repeated: the command id was known; nothing was written now, this is what the first append returned.
    """

    first_n: int
    ids: tuple[str, ...]
    server_time: float
    repeated: bool


@dataclass(frozen=True, slots=True)
class LeaseInfo:
    """A lease that was acquired and not released.

    Attributes:
        owner: who holds it.
        epoch: of the holder's token.
        expires_in: seconds until it runs out, zero or less when it has run out, None when it never does.
        note: small values that the holder keeps with it.
    """

    owner: str
    epoch: int
    expires_in: float | None
    note: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """The arguments of one append, for `append_many`."""

    events: Sequence[Event]
    token: Token
    expect: Mapping[str, int] | None = None
    command: str | None = None


class EventLog(ABC):
    """Keeps the events of one cluster and the leases of those who write them.

    Every method that reaches a server raises `LogUnavailable` when it cannot.
    """

    cluster: str
    # What an operator should know of the place where the log is kept, in words; known when the log is open.
    warnings: tuple[str, ...] = ()

    @property
    @abstractmethod
    def side(self) -> SideStreams:
        """The streams beside this log; usable while it is open."""

    @abstractmethod
    async def open(self) -> None:
        """Makes the log ready for use and creates it where there is none.

        Raises:
            UserError: the address, the rights, the server or what is stored there is not fit for a log.
            LogMissing: what is left of a log there lacks its events.
        """

    @abstractmethod
    async def close(self) -> None:
        """Gives back what `open` took; leases stay as they are."""

    @abstractmethod
    async def head(self) -> Head:
        """Returns where the log ends; `LogMissing` when it is gone."""

    @abstractmethod
    async def now(self) -> float:
        """Returns domain time in seconds. It never goes back."""

    @abstractmethod
    async def raise_generation(self, above: int) -> int:
        """Raises the log's generation above a number and returns it; all tokens of earlier ones are fenced.

        For a log that lost its tail: `above` is the highest generation that anybody remembers.
        """

    @abstractmethod
    async def acquire(
        self,
        lease: str,
        owner: str,
        *,
        ttl: float | None = None,
        seize: bool = False,
        above: Right = NO_RIGHT,
    ) -> Token:
        """Takes a lease that nobody holds any more and raises its epoch.

        Args:
            lease: its name.
            owner: who takes it, for people.
            ttl: seconds until it runs out unless renewed; None for never.
            seize: take it from whoever holds it.
            above: the newest right under this lease that the caller knows of. The new one is newer, also on a log that
                lost its tail and forgot that one; a log of an older generation rises above that generation.

        Raises:
            LeaseHeld: somebody holds it.
        """

    @abstractmethod
    async def renew(self, token: Token, *, ttl: float | None, note: Mapping[str, str] | None = None) -> None:
        """Starts a new term of `ttl` seconds, counted from when the log got the request.

        Args:
            token: of the holder.
            ttl: seconds; None for never.
            note: small values kept with the lease, in place of the earlier ones; None keeps those.

        Raises:
            Fenced: the lease has run out or belongs to somebody else.
        """

    @abstractmethod
    async def release(self, token: Token) -> None:
        """Gives the lease back at once; nothing happens when it is not held any more. The epoch stays."""

    @abstractmethod
    async def leases(self) -> dict[str, LeaseInfo]:
        """Returns the leases that were acquired and not released, also those that have run out."""

    @abstractmethod
    async def append(
        self,
        events: Sequence[Event],
        *,
        token: Token,
        expect: Mapping[str, int] | None = None,
        command: str | None = None,
    ) -> Appended:
        """Appends a batch as a whole or not at all.

        Args:
            events: at least one; their `n`, `id` and `epoch` are ignored, the log stamps its own.
            token: of the author's lease.
            expect: subject -> version on which the batch was decided; subjects left out are not checked.
            command: id of the append. When it is known already, nothing is written and the stored result is returned,
                so that an append whose outcome is unknown can be repeated.

        Raises:
            Fenced: the token is not good any more.
            StaleDecision: a subject is not at the expected version.
            LogMissing: the log is gone.
        """

    @abstractmethod
    async def append_many(self, batches: Sequence[Batch]) -> list[Appended | HaesError]:
        """Appends several batches in order, each as a whole or not at all, in few round trips.

        A refused batch does not keep those after it from being tried; its error is in its place of the result.
        """

    @abstractmethod
    async def versions(self, subjects: Iterable[str]) -> dict[str, int]:
        """Returns the number of events of each subject."""

    @abstractmethod
    async def read(self, after: int = 0, *, count: int = READ_COUNT, lenient: bool = False) -> list[Event]:
        """Returns up to `count` events whose n is above `after`, in order; none at the end of the log.

        An entry that cannot be understood ends the list before it, and is raised by the read that starts with it. With
        `lenient` an event stands in for it, so that a follower can go on: `log.unreadable`, with its number and
        subject, for what carries a number, and `log.foreign`, with the number of the event before, for what does not.

        Raises:
            LogFault: the entry at that place is missing or cannot be understood.
        """

    @abstractmethod
    def raw_chunks(self, after: int = 0, *, count: int = READ_COUNT) -> AsyncGenerator[list[RawEntry], None]:
        """Yields all entries whose n is above `after` undecoded, up to `count` at a time; for fast replay.

        The caller checks that `n` is contiguous.
        """

    def bulk_chunks(self, after: int = 0) -> AsyncGenerator[list[RawEntry], None]:
        """Yields the same as `raw_chunks`, as fast as the log can; nothing else of the program may run meanwhile.

        For tools that only read, not for a leader or an agent, who must renew their leases in between.
        """
        return self.raw_chunks(after)

    @abstractmethod
    async def attach(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """Checks that a reader can go on from its position; None is the start of the log.

        Raises:
            LogMissing: the log is gone.
            LogForked: it is another log, or it lost its tail.
            LogTruncated: events that the reader has not read are gone.
        """

    @abstractmethod
    async def wait(
        self,
        checkpoint: Checkpoint,
        timeout: float,  # noqa: ASYNC109 - a part of the port
        *,
        lenient: bool = False,
    ) -> list[Event]:
        """Returns the next events, as soon as there are any; none when `timeout` seconds have passed.

        With `lenient` stand-ins are returned as by `read`.

        Raises:
            LogFault: as by `attach` and `read`; never an empty list for a reader that the log has lost.
        """

    @abstractmethod
    async def trim(self, up_to: int) -> int:
        """Removes the events up to and including a number from the stream and returns how many were removed.

        Whoever calls this has made sure that they are archived, lie below a snapshot, and that every reader has them.
        The last event always stays, because the log's end is checked against it.
        """

    @abstractmethod
    async def snapshot_numbers(self) -> list[int]:
        """Returns the sequence numbers up to which a snapshot is kept, in order."""

    @abstractmethod
    async def get_snapshot(self, n: int) -> bytes | None:
        """Returns the snapshot kept under a number, or None."""

    @abstractmethod
    async def put_snapshot(self, n: int, data: bytes) -> None:
        """Keeps a snapshot under the number of the last event in it."""

    @abstractmethod
    async def drop_snapshot(self, n: int) -> None:
        """Throws a snapshot away; nothing happens when there is none."""

    async def read_all(self, after: int = 0, *, lenient: bool = False) -> AsyncIterator[Event]:
        """Yields every event whose n is above `after`, up to the end of the log; with stand-ins as by `read`."""
        while events := await self.read(after, lenient=lenient):
            for event in events:
                yield event
            after = events[-1].n
