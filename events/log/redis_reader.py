"""Reading the stream of a log on Redis: from a number, following its end, undecoded; changes nothing.

A reader's position is checked on every read, because the server itself answers a reader that is ahead of a log that
lost its tail with nothing, for ever, and one whose entries were trimmed away with later ones.
"""

from collections.abc import AsyncGenerator, Sequence
from time import monotonic
from typing import cast

from events.envelope import Event
from events.errors import LogTruncated
from events.log import scripts
from events.log.checks import check_alive, check_position, decode_after, missing, number_of
from events.log.port import READ_COUNT, START_ID, Checkpoint, Head, RawEntry
from events.log.redis_client import BLOCK_LIMIT, Server, ask
from events.log.redis_errors import translated
from events.log.redis_keys import Keys

HEAD_FIELDS = ("log_id", "generation", "n", "last_id")
_MILLI = 1000


class StreamReader:
    """Reads the events of one cluster."""

    def __init__(self, server: Server, keys: Keys, cluster: str) -> None:
        self._server = server
        self._keys = keys
        self._cluster = cluster
        # Where the last read ended, as number and stream id: the next read mostly starts there.
        self._place = (0, START_ID)

    def head_of(self, values: Sequence[bytes | None]) -> Head:
        """Makes the head of the values of HEAD_FIELDS; raises LogMissing when there is none."""
        log_id, generation, n, last_id = values
        if log_id is None or generation is None or n is None or last_id is None:
            raise missing(self._cluster)
        return Head(log_id.decode(), int(generation), int(n), last_id.decode())

    async def head(self) -> Head:
        """See EventLog."""
        with translated(self._server.shown):
            return self.head_of(await self._server.execute("HMGET", self._keys.head, *HEAD_FIELDS))

    async def read(self, after: int, count: int, *, lenient: bool = False) -> list[Event]:
        """See EventLog."""
        # The remembered place may be of a log that has been replaced since; then it is looked for once more.
        for known in (self._start(after), None):
            from_id = known or await self._find(after)
            with translated(self._server.shown):
                async with self._server.commands.pipeline(transaction=True) as pipe:
                    pipe.execute_command("XRANGE", self._keys.events, f"({from_id}", "+", "COUNT", count)
                    pipe.execute_command("HMGET", self._keys.head, *HEAD_FIELDS)
                    entries, values = await pipe.execute()
            head = self.head_of(values)
            if head.n <= after:
                return []
            if entries:
                events = decode_after(after, entries, lenient=lenient)
                self._place = (events[-1].n, events[-1].id)
                return events
        raise LogTruncated(f"events {after + 1} to {head.n} are gone")

    async def attach(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """See EventLog."""
        head, first_n, entry_n = await self.ends(checkpoint)
        return check_position(checkpoint, head, first_n, entry_n)

    async def ends(self, checkpoint: Checkpoint | None = None) -> tuple[Head, int | None, int | None]:
        """Returns the head, the number of the oldest entry, and that of the entry at a reader's position.

        Raises:
            LogMissing: there is no head, or no stream although there should be events.
        """
        at = checkpoint.id if checkpoint else START_ID
        with translated(self._server.shown):
            async with self._server.commands.pipeline(transaction=True) as pipe:
                pipe.execute_command("HMGET", self._keys.head, *HEAD_FIELDS)
                pipe.execute_command("EXISTS", self._keys.events)
                pipe.execute_command("XRANGE", self._keys.events, "-", "+", "COUNT", 1)
                pipe.execute_command("XRANGE", self._keys.events, at, at)
                values, exists, first, entry = await pipe.execute()
        head = self.head_of(values)
        if head.n and not exists:
            raise missing(self._cluster)
        return head, number_of(first[0]) if first else None, number_of(entry[0]) if entry else None

    async def wait(self, checkpoint: Checkpoint, seconds: float, *, lenient: bool = False) -> list[Event]:
        """See EventLog."""
        deadline = monotonic() + seconds
        while True:
            remaining = deadline - monotonic()
            # A block of 0 would be one without end.
            block = ("BLOCK", max(1, int(min(remaining, BLOCK_LIMIT) * _MILLI))) if remaining > 0 else ()
            with translated(self._server.shown):
                async with self._server.followers.pipeline(transaction=False) as pipe:
                    pipe.execute_command(
                        *("XREAD", "COUNT", READ_COUNT, *block),
                        *("STREAMS", self._keys.events, checkpoint.id),
                    )
                    # Whether what was read last is still there: in a tail that was written again numbers go on, too.
                    pipe.execute_command("XRANGE", self._keys.events, checkpoint.id, checkpoint.id)
                    pipe.execute_command("HMGET", self._keys.head, *HEAD_FIELDS)
                    streams, last, values = await pipe.execute()
            head = self.head_of(values)
            check_alive(checkpoint, head)
            if checkpoint.id != START_ID and not last:
                await self.attach(checkpoint)
            if streams:
                [[_, entries]] = streams
                return decode_after(checkpoint.n, entries, lenient=lenient)
            if head.n > checkpoint.n:
                # An event came just after the block, or the reader's position is not of this log.
                await self.attach(checkpoint)
            elif remaining <= 0:
                return []

    async def raw_chunks(self, after: int, count: int) -> AsyncGenerator[list[RawEntry], None]:
        """See EventLog; the next chunk is on its way while the caller works on the last one."""
        start = await self.start(after)
        with translated(self._server.shown):
            connection = await self._server.borrow()
        unread = False
        try:
            with translated(self._server.shown):
                reply = await ask(connection, "XRANGE", self._keys.events, f"({start}", "+", "COUNT", count)
            while reply:
                if len(reply) == count:
                    with translated(self._server.shown):
                        await connection.send_command(
                            *("XRANGE", self._keys.events, b"(" + reply[-1][0], "+", "COUNT", count)
                        )
                    unread = True
                # A pair is a list here, which unpacks like the tuple that the type promises.
                yield cast("list[RawEntry]", reply)
                if not unread:
                    break
                with translated(self._server.shown):
                    reply = await connection.read_response()
                unread = False
        finally:
            if unread:
                # A reply nobody will read must not meet the connection's next user.
                await connection.disconnect()
            await self._server.give_back(connection)

    async def start(self, after: int) -> str:
        """Returns the id after which event `after + 1` is, or the start of the log when `after` was trimmed away."""
        return self._start(after) or await self._find(after)

    def _start(self, after: int) -> str | None:
        """Returns the id after which event `after + 1` should be, if it is known without asking."""
        if after == 0:
            return START_ID
        n, entry_id = self._place
        return entry_id if n == after else None

    async def _find(self, after: int) -> str:
        """Returns the id of event `after`; the start of the log, where numbers tell the rest, when it is gone."""
        with translated(self._server.shown):
            found: bytes = await self._server.run_reading(scripts.FIND, [self._keys.events], [after])
        if found:
            return found.decode()
        head = await self.head()
        return START_ID if after < head.n else head.last_id
