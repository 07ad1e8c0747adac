"""The log on Redis: one stream, a hash for its head, and a script for every change of either.

Knows nothing about HA, nor where the server comes from. Works on Redis 6.2 and newer and on Valkey.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, suppress
from typing import Any

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import NoPermissionError, ResponseError

from events.codec import encode_for_append
from events.envelope import Event
from events.errors import Fenced, HaesError, LogConflict, LogForked, LogMissing, LogUnavailable, UserError
from events.ids import new_id
from events.log import scripts
from events.log.checks import check_batch, fenced, held_by, missing, stale
from events.log.durability import LOCAL, read_durability
from events.log.port import (
    NO_RIGHT,
    READ_COUNT,
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
from events.log.redis_bulk import bulk_entries
from events.log.redis_client import Call, Server, ask
from events.log.redis_errors import CLIENT_ERRORS, hide_password, is_unanswered, translate, translated
from events.log.redis_fitness import check_server
from events.log.redis_keys import Keys, keys_of
from events.log.redis_reader import StreamReader
from events.log.redis_side import RedisSideStreams
from events.log.side import SideStreams

# Seconds after which a command id is forgotten: longer than any outage after which a writer still repeats an append.
COMMAND_AGE = 24 * 3600
# Events that one call appends at most when many batches are at hand: half a millisecond in which others wait.
GROUP_EVENTS = 100
_MICRO = 1_000_000
_NOTE = b"note:"


def _in_groups(batches: Sequence[Batch]) -> Iterator[list[Batch]]:
    """Yields batches in groups for one call each: of one token, and not so many that others wait for long."""
    group: list[Batch] = []
    size = 0
    for batch in batches:
        if group and (batch.token != group[0].token or size + len(batch.events) > GROUP_EVENTS):
            yield group
            group, size = [], 0
        group.append(batch)
        size += len(batch.events)
    if group:
        yield group


class RedisLog(EventLog):
    """A log on a Redis server.

    Attributes:
        whole: it opens only when it has its events, and is created where there is none; False for whoever mends it.
    """

    whole = True

    def __init__(self, url: str, cluster: str, *, durability: str = LOCAL) -> None:
        """Prepares a log; `open` connects it.

        Args:
            url: one of the schemes in `events/url.py` that name a server.
            cluster: name of the cluster.
            durability: when an append counts as done, see `events/log/durability.py`.

        Raises:
            UserError: a cluster cannot be called so, or there is no such durability.
        """
        self._durability = read_durability(durability)
        self.cluster = cluster
        self.url = url
        self.shown = hide_password(url)
        self._keys = keys_of(cluster)
        self._opened: tuple[Server, StreamReader] | None = None
        self._time = 0.0

    @property
    def side(self) -> SideStreams:
        """See EventLog."""
        return RedisSideStreams(self._server, self._keys)

    async def open(self) -> None:
        """See EventLog."""
        server = Server(self.url, self.shown, self.cluster, self._adopt)
        reader = StreamReader(server, self._keys, self.cluster)
        try:
            with translated(self.shown):
                self.warnings = await check_server(server, self._durability)
                await self._prepare(server)
                # Reads the stream once: it must be one, and be there when the head says so.
                try:
                    await reader.ends()
                except LogMissing:
                    if self.whole:
                        raise
        except BaseException:
            await server.close()
            raise
        self._opened = server, reader

    async def close(self) -> None:
        """See EventLog."""
        if self._opened is not None:
            server, _ = self._opened
            self._opened = None
            await server.close()

    async def head(self) -> Head:
        """See EventLog."""
        return await self._reader.head()

    async def now(self) -> float:
        """See EventLog."""
        with translated(self.shown):
            async with self._server.commands.pipeline(transaction=True) as pipe:
                pipe.execute_command("HMGET", self._keys.head, "time_offset", "last_time")
                pipe.execute_command("TIME")
                (offset, last), time = await pipe.execute()
        if offset is None or last is None:
            raise missing(self.cluster)
        return self._seen(max(_microseconds(time) + int(offset), int(last)))

    async def raise_generation(self, above: int) -> int:
        """See EventLog."""
        return int((await self._run(scripts.GENERATION, [self._keys.head], [above]))[1])

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
        nonce = new_id()
        status, *rest = await self._run(
            scripts.LEASE,
            self._lease_keys(lease),
            ["acquire", lease, owner, nonce, _term(ttl), "1" if seize else "0", *above],
        )
        if status == b"HELD":
            holder, left = rest
            raise held_by(lease, holder.decode(), None if left == b"" else int(left) / _MICRO)
        generation, epoch = rest
        return Token(int(generation), lease, int(epoch), nonce)

    async def renew(self, token: Token, *, ttl: float | None, note: Mapping[str, str] | None = None) -> None:
        """See EventLog."""
        values = [text for pair in (note or {}).items() for text in pair]
        await self._change_lease(token, "renew", _term(ttl), "0" if note is None else "1", *values)

    async def release(self, token: Token) -> None:
        """See EventLog."""
        try:
            await self._change_lease(token, "release")
        except Fenced:
            return

    async def leases(self) -> dict[str, LeaseInfo]:
        """See EventLog."""
        commands = self._server.commands
        with translated(self.shown):
            names = await self._server.execute("HKEYS", self._keys.epochs)
            async with commands.pipeline(transaction=True) as pipe:
                for name in names:
                    pipe.execute_command("HGETALL", self._keys.lease(name.decode()))
                found = await pipe.execute()
        now = await self.now()
        return {name.decode(): _lease_info(values, now) for name, values in zip(names, found, strict=True) if values}

    async def append(
        self,
        events: Sequence[Event],
        *,
        token: Token,
        expect: Mapping[str, int] | None = None,
        command: str | None = None,
    ) -> Appended:
        """See EventLog; when the outcome is unknown (`LogUnavailable`), repeating it with its command id is safe."""
        check_batch(events)
        keys, arguments = self._append_call([Batch(events, token, expect, command)])
        try:
            if self._durability.needs_proof:
                reply, proof = await self._server.run_and_prove(
                    scripts.APPEND, keys, arguments, self._keys.head, self._durability.command()
                )
            else:
                reply, proof = await self._server.run(scripts.APPEND, keys, arguments), None
        except CLIENT_ERRORS as error:
            raise self._append_error(error) from error
        [result] = reply
        appended = self._appended(result, token)
        shortage = self._durability.shortage(proof)
        if shortage is not None:
            raise LogUnavailable(f"{self.shown}: event {appended.first_n} is written, but {shortage}")
        return appended

    async def append_many(self, batches: Sequence[Batch]) -> list[Appended | HaesError]:
        """See EventLog; when the connection breaks, all batches have an unknown outcome."""
        if self._durability.needs_proof:
            return [await self._append_one(batch) for batch in batches]
        for batch in batches:
            check_batch(batch.events)
        groups = list(_in_groups(batches))
        replies: list[Any]
        try:
            replies = await self._server.run_many(scripts.APPEND, map(self._append_call, groups))
        except CLIENT_ERRORS as error:
            replies = [error] * len(groups)
        results: list[Appended | HaesError] = []
        for group, reply in zip(groups, replies, strict=True):
            results += self._outcomes(group, reply)
        return results

    def _outcomes(self, batches: Sequence[Batch], reply: Any) -> Iterator[Appended | HaesError]:
        """Yields what became of each batch of one call."""
        for place, batch in enumerate(batches):
            try:
                if isinstance(reply, Exception):
                    raise self._append_error(reply) from reply
                # After a fault of the server the batches that follow were not even tried.
                yield self._appended(reply[min(place, len(reply) - 1)], batch.token)
            except HaesError as error:
                yield error

    async def _append_one(self, batch: Batch) -> Appended | HaesError:
        try:
            return await self.append(batch.events, token=batch.token, expect=batch.expect, command=batch.command)
        except HaesError as error:
            return error

    async def versions(self, subjects: Iterable[str]) -> dict[str, int]:
        """See EventLog."""
        names = list(subjects)
        if not names:
            return {}
        with translated(self.shown):
            found = await self._server.execute("HMGET", self._keys.versions, *names)
        return {name: int(version or 0) for name, version in zip(names, found, strict=True)}

    async def read(self, after: int = 0, *, count: int = READ_COUNT, lenient: bool = False) -> list[Event]:
        """See EventLog."""
        return await self._reader.read(after, count, lenient=lenient)

    async def raw_chunks(self, after: int = 0, *, count: int = READ_COUNT) -> AsyncGenerator[list[RawEntry], None]:
        """See EventLog."""
        async with aclosing(self._reader.raw_chunks(after, count)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def bulk_chunks(self, after: int = 0) -> AsyncGenerator[list[RawEntry], None]:
        """See EventLog; where the server may move it is found as for everything else, which is a little slower."""
        if "+" in self.url.partition(":")[0]:
            async with aclosing(self.raw_chunks(after)) as found:
                async for chunk in found:
                    yield chunk
            return
        start = await self._reader.start(after)
        with closing(bulk_entries(self.url, self.shown, self._keys.events, start)) as chunks:
            for chunk in chunks:
                yield chunk

    async def attach(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """See EventLog."""
        return await self._reader.attach(checkpoint)

    async def wait(
        self,
        checkpoint: Checkpoint,
        timeout: float,  # noqa: ASYNC109 - as in the port
        *,
        lenient: bool = False,
    ) -> list[Event]:
        """See EventLog."""
        return await self._reader.wait(checkpoint, timeout, lenient=lenient)

    async def trim(self, up_to: int) -> int:
        """See EventLog."""
        last = min(up_to, (await self.head()).n - 1)
        if last <= 0:
            return 0
        # Undecoded: what cannot be understood keeps nothing in the stream that is archived.
        kept = await self._reader.start(last + 1)
        with translated(self.shown):
            return int(await self._server.execute("XTRIM", self._keys.events, "MINID", kept))

    async def snapshot_numbers(self) -> list[int]:
        """See EventLog."""
        with translated(self.shown):
            return sorted(int(n) for n in await self._server.execute("HKEYS", self._keys.snapshot))

    async def get_snapshot(self, n: int) -> bytes | None:
        """See EventLog."""
        with translated(self.shown):
            data: bytes | None = await self._server.execute("HGET", self._keys.snapshot, n)
        return data

    async def put_snapshot(self, n: int, data: bytes) -> None:
        """See EventLog."""
        with translated(self.shown):
            await self._server.execute("HSET", self._keys.snapshot, n, data)

    async def drop_snapshot(self, n: int) -> None:
        """See EventLog."""
        with translated(self.shown):
            await self._server.execute("HDEL", self._keys.snapshot, n)

    @property
    def keys(self) -> Keys:
        """The keys of this log."""
        return self._keys

    @property
    def server_of_log(self) -> Server:
        """The server, while the log is open."""
        return self._server

    @property
    def _server(self) -> Server:
        return self._parts[0]

    @property
    def _reader(self) -> StreamReader:
        return self._parts[1]

    @property
    def _parts(self) -> tuple[Server, StreamReader]:
        if self._opened is None:
            raise LogUnavailable(f"{self.shown}: the log is not open")
        return self._opened

    def _seen(self, microseconds: int) -> float:
        """Returns a time in seconds, but never one before the last."""
        self._time = max(self._time, microseconds / _MICRO)
        return self._time

    def _lease_keys(self, lease: str) -> list[str]:
        return [self._keys.head, self._keys.epochs, self._keys.lease(lease)]

    async def _run(self, script: scripts.Script, keys: Sequence[str], arguments: Sequence[str | int]) -> list[Any]:
        """Runs a script whose result starts with a status."""
        with translated(self.shown):
            reply: list[Any] = await self._server.run(script, keys, arguments)
        if reply[0] == b"MISSING":
            raise missing(self.cluster)
        return reply

    async def _change_lease(self, token: Token, change: str, *arguments: str) -> None:
        reply = await self._run(
            scripts.LEASE,
            self._lease_keys(token.lease),
            [change, token.generation, token.epoch, token.nonce, *arguments],
        )
        if reply[0] == b"FENCED":
            raise fenced(token, reply[1].decode())

    def _append_call(self, batches: Sequence[Batch]) -> Call:
        token, keys = batches[0].token, self._keys
        arguments: list[bytes | str | int] = [token.generation, token.epoch, token.nonce, COMMAND_AGE * _MICRO]
        for batch in batches:
            expect = batch.expect or {}
            arguments += (batch.command or "", len(expect))
            for pair in expect.items():
                arguments += pair
            arguments.append(len(batch.events))
            for event in batch.events:
                arguments += encode_for_append(event)
        return [keys.events, keys.head, keys.versions, keys.done, keys.results, keys.lease(token.lease)], arguments

    def _append_error(self, error: Exception) -> HaesError:
        if "equal or smaller" in str(error):
            return LogForked(f"{self.shown}: somebody else wrote into {self._keys.events}; nothing can be appended")
        translated_error = translate(error, self.shown)
        if is_unanswered(error):
            return LogUnavailable(f"{translated_error}; the outcome of the append is unknown")
        return translated_error

    def _appended(self, reply: list[Any], token: Token) -> Appended:
        """Returns what the append script did, or raises why it did nothing."""
        status, *rest = reply
        if status in (b"OK", b"REPEATED"):
            first_n, count, milliseconds, time = rest
            ids = tuple([f"{milliseconds}-{n}" for n in range(first_n, first_n + count)])
            return Appended(first_n, ids, self._seen(time), repeated=status == b"REPEATED")
        if status == b"FENCED":
            raise fenced(token, rest[0].decode())
        if status == b"CONFLICT":
            subject, expected, actual = rest
            raise stale(subject.decode(), int(expected), int(actual))
        if status == b"MISSING":
            raise missing(self.cluster)
        if status == b"ERROR":
            raise self._append_error(ResponseError(rest[0].decode()))
        raise LogConflict(f"{self.shown}: {rest[0].decode()}")

    async def _prepare(self, server: Server) -> None:
        """Creates the log where there is none; a user who may only read finds one or is refused."""
        try:
            await self._create(server)
            await server.execute("SCRIPT LOAD", scripts.APPEND.source)
        except NoPermissionError:
            if not await server.execute("EXISTS", self._keys.head):
                raise

    async def _create(self, server: Server) -> None:
        """Creates the head where there is no log."""
        leases = await server.execute("HKEYS", self._keys.epochs)
        keys, arguments = self._create_arguments(leases, new_id() if self.whole else "", server.run_id or "")
        status, *rest = await server.run(scripts.CREATE, keys, arguments)
        if status == b"FOREIGN":
            raise UserError(
                f"{self.shown}: {rest[0].decode()} holds something that is not of HAES; use another cluster name"
            )

    async def _adopt(self, connection: AbstractConnection, run_id: str) -> None:
        """Tells the log that another server keeps it now; a log that is gone stays gone."""
        leases = await ask(connection, "HKEYS", self._keys.epochs)
        keys, arguments = self._create_arguments(leases, "", run_id)
        # Whoever may only read leaves this to those who write.
        with suppress(NoPermissionError):
            await ask(connection, "EVAL", scripts.CREATE.source, len(keys), *keys, *arguments)

    def _create_arguments(self, leases: Iterable[bytes], log_id: str, run_id: str) -> tuple[list[str], list[str]]:
        keys = self._keys
        log = [keys.head, keys.events, keys.versions, keys.done, keys.results, keys.epochs]
        return [*log, *(keys.lease(name.decode()) for name in leases)], [log_id, run_id]


def _microseconds(time: Any) -> int:
    """Reads what TIME answers, in whichever shape the client gives it."""
    seconds, microseconds = time
    return int(seconds) * _MICRO + int(microseconds)


def _term(ttl: float | None) -> str:
    """Returns the term of a lease as the scripts take it."""
    return "" if ttl is None else str(round(ttl * _MICRO))


def _lease_info(values: Mapping[bytes, bytes], now: float) -> LeaseInfo:
    expires = values[b"expires"]
    note = {name.removeprefix(_NOTE).decode(): text.decode() for name, text in values.items() if name.startswith(_NOTE)}
    return LeaseInfo(
        owner=values[b"owner"].decode(),
        epoch=int(values[b"epoch"]),
        expires_in=None if expires == b"" else int(expires) / _MICRO - now,
        note=note,
    )
