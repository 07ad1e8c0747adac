"""The log's server and the ways to it: a log in memory that all processes share, and what may go wrong on the way.

Each process has a `SimulatedLog`. A request that was sent takes effect on the server whether or not its sender still
lives, waits or hears of it; the reply may be lost. Knows nothing of HA.
"""

import asyncio
import copy
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from events.envelope import Event
from events.errors import HaesError, LogUnavailable
from events.log.memory import MemoryLog
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
from events.log.side import READ_COUNT as SIDE_COUNT
from events.log.side import SideEntry, SideStreams
from tests.cluster_simulator.loop import SimulatedLoop

# Seconds: a command is given up after so long, a read that blocks after so long more than it blocks, as the real
# client does it.
COMMAND_LIMIT = 3.0
# Seconds of a usual way to the server and back, at most.
LATENCY = 0.002


def at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs what never waits and returns its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a log in memory waits for nothing")


class Server:
    """The server.

    Attributes:
        log: what it keeps.
        clock_offset: seconds that its clock is off.
        up: it answers.
        stuck_until: until when it does nothing, virtual seconds.
        slowness: seconds that a request takes at most beyond the usual.
        full: it refuses to write.
        lose_request: share of requests that are lost on the way.
        lose_reply: share of replies that are lost.
        on_append: called with the token and the number before and after each append that wrote something.
    """

    def __init__(self, loop: SimulatedLoop, cluster: str, began: float) -> None:
        self.loop = loop
        self.began = began
        self.clock_offset = 0.0
        self.log = MemoryLog(cluster, clock=self.clock)
        self.up = True
        self.run = 0
        self.stuck_until = 0.0
        self.slowness = 0.0
        self.full = False
        self.lose_request = 0.0
        self.lose_reply = 0.0
        self.waiters: list[_Waiter] = []
        self.on_append: Callable[[Token, int, int], None] = lambda _token, _before, _after: None

    def clock(self) -> float:
        """Returns what its clock says."""
        return self.began + self.loop.time() + self.clock_offset

    def stop(self) -> None:
        """Ends the server; whoever waits for it learns it at once."""
        self.up = False
        self.run += 1
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter.fail("the connection was closed")

    def start(self, log: MemoryLog | None = None) -> None:
        """Starts it again, perhaps with another log; every lease that runs gets a full term."""
        if log is not None:
            self.log = log
        self.up = True
        self.log.adopt()

    def replica(self) -> MemoryLog:
        """Returns a copy of what is kept right now, as a replica has it that hears of nothing more."""
        return self.log.fork()

    def execute(self, name: str, arguments: tuple[Any, ...], values: Mapping[str, Any]) -> Any:
        """Carries out a request."""
        if self.full and name in _WRITES:
            raise LogUnavailable("the server has no memory left")
        if name == "slice":
            at_once(self.log.head())
            return self.log._slice(*arguments)
        if name.startswith("side."):
            return at_once(getattr(self.log.side, name[5:])(*arguments, **values))
        before = self.log._head.n if self.log._head is not None else 0
        result = at_once(getattr(self.log, name)(*arguments, **values))
        if name == "append" and not result.repeated:
            self.on_append(values["token"], before, before + len(arguments[0]))
            self.wake()
        elif name == "append_many":
            raise AssertionError("no process of a cluster does this")
        return result

    def wake(self) -> None:
        """Tells those who wait for news."""
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter.look()


_WRITES = frozenset({"append", "acquire", "renew", "raise_generation", "put_snapshot", "side.add"})


class Link:
    """The way of one process to the server.

    Attributes:
        cut: nothing comes through.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.cut = False


class _Waiter:
    """Somebody who waits for news."""

    def __init__(
        self, link: Link, future: "asyncio.Future[Any]", checkpoint: Checkpoint, *, lenient: bool, seconds: float
    ) -> None:
        self._link = link
        self._future = future
        self._checkpoint = checkpoint
        self._lenient = lenient
        self._until = link.server.loop.time() + seconds

    def look(self) -> None:
        """Answers if there are news or the time is over, waits on otherwise."""
        server = self._link.server
        if self._future.done():
            return
        if self._link.cut:
            server.loop.call_later(COMMAND_LIMIT, self.fail, "no answer in time", context=server.loop.world.context)
            return
        try:
            events = at_once(server.log.wait_once(self._checkpoint, lenient=self._lenient))
        except HaesError as error:
            server.loop.call_later(_way(server), _settle, self._future, None, error, context=server.loop.world.context)
            return
        if events or server.loop.time() >= self._until:
            server.loop.call_later(_way(server), _settle, self._future, events, None, context=server.loop.world.context)
        else:
            server.waiters.append(self)

    def expire(self) -> None:
        """Answers that nothing is new."""
        with suppress(ValueError):
            self._link.server.waiters.remove(self)
            self.look()

    def fail(self, why: str) -> None:
        """Breaks the connection."""
        _settle(self._future, None, LogUnavailable(why))


def _settle(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if not future.done():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)


def _way(server: Server) -> float:
    """Returns the seconds that a way takes."""
    chance = server.loop.chance.random
    way = chance() * LATENCY
    if server.slowness:
        way += chance() * server.slowness
    return way


class SimulatedLog(EventLog):
    """See EventLog; one process's."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._server = link.server
        self._loop = link.server.loop
        self.cluster = link.server.log.cluster
        self._side = _SimulatedSide(self)

    @property
    def side(self) -> SideStreams:
        """See EventLog."""
        return self._side

    async def call(self, name: str, *arguments: Any, **values: Any) -> Any:
        """Sends a request and returns what is answered."""
        loop, server = self._loop, self._server
        future = loop.create_future()
        if self._link.cut:
            loop.call_later(COMMAND_LIMIT, _settle, future, None, LogUnavailable("no answer in time"))
            return await future
        if not server.up:
            loop.call_later(LATENCY, _settle, future, None, LogUnavailable("connection refused"))
            return await future
        way = _way(server)
        if server.stuck_until > loop.time() + way:
            way = server.stuck_until - loop.time() + way
        if way > COMMAND_LIMIT:
            loop.call_later(COMMAND_LIMIT, _settle, future, None, LogUnavailable("no answer in time"))
        # The request is on its way whatever becomes of its sender.
        loop.call_later(way, self._arrive, future, server.run, name, arguments, values, context=loop.world.context)
        return await future

    def _arrive(
        self, future: "asyncio.Future[Any]", run: int, name: str, arguments: tuple[Any, ...], values: Mapping[str, Any]
    ) -> None:
        server, loop = self._server, self._loop
        chance = loop.chance.random
        if run != server.run:
            _settle(future, None, LogUnavailable("the connection was closed"))
            return
        if self._link.cut or (server.lose_request and chance() < server.lose_request):
            self._time_out(future)
            return
        if name == "wait":
            checkpoint, seconds = arguments
            waiter = _Waiter(self._link, future, checkpoint, lenient=values["lenient"], seconds=seconds)
            waiter.look()
            if not future.done():
                loop.call_later(seconds, waiter.expire, context=loop.world.context)
            return
        result: Any = None
        error: Exception | None = None
        try:
            result = server.execute(name, arguments, values)
        except Exception as raised:  # noqa: BLE001 - also what a real client finds out before it sends anything
            error = raised
        if self._link.cut or (server.lose_reply and chance() < server.lose_reply):
            self._time_out(future)
        elif chance() < 0.5:
            _settle(future, result, error)
        else:
            loop.call_later(_way(server), _settle, future, result, error, context=loop.world.context)

    def _time_out(self, future: "asyncio.Future[Any]") -> None:
        """The connection broke, which is noticed at once or when the time is over."""
        soon = self._loop.chance.random() < 0.5
        delay = LATENCY if soon else COMMAND_LIMIT
        error = LogUnavailable("the outcome is unknown")
        self._loop.call_later(delay, _settle, future, None, error, context=self._loop.world.context)

    async def open(self) -> None:
        """See EventLog."""
        await self.call("head")

    async def close(self) -> None:
        """See EventLog."""

    async def head(self) -> Head:
        """See EventLog."""
        return await self.call("head")

    async def now(self) -> float:
        """See EventLog."""
        return await self.call("now")

    async def raise_generation(self, above: int) -> int:
        """See EventLog."""
        return await self.call("raise_generation", above)

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
        return await self.call("acquire", lease, owner, ttl=ttl, seize=seize, above=above)

    async def renew(self, token: Token, *, ttl: float | None, note: Mapping[str, str] | None = None) -> None:
        """See EventLog."""
        await self.call("renew", token, ttl=ttl, note=None if note is None else dict(note))

    async def release(self, token: Token) -> None:
        """See EventLog."""
        await self.call("release", token)

    async def leases(self) -> dict[str, LeaseInfo]:
        """See EventLog."""
        return await self.call("leases")

    async def append(
        self,
        events: Sequence[Event],
        *,
        token: Token,
        expect: Mapping[str, int] | None = None,
        command: str | None = None,
    ) -> Appended:
        """See EventLog; what is sent is sent as it is now."""
        sent = tuple(copy.copy(event) for event in events)
        return await self.call(
            "append", sent, token=token, expect=None if expect is None else dict(expect), command=command
        )

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
        return await self.call("versions", list(subjects))

    async def read(self, after: int = 0, *, count: int = READ_COUNT, lenient: bool = False) -> list[Event]:
        """See EventLog."""
        return await self.call("read", after, count=count, lenient=lenient)

    async def raw_chunks(self, after: int = 0, *, count: int = READ_COUNT) -> AsyncGenerator[list[RawEntry], None]:
        """See EventLog."""
        while chunk := await self.call("slice", after, count):
            yield chunk
            after = max(after, self._server.log._trimmed) + len(chunk)

    async def attach(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """See EventLog."""
        return await self.call("attach", checkpoint)

    async def wait(
        self,
        checkpoint: Checkpoint,
        timeout: float,  # noqa: ASYNC109 - as in the port
        *,
        lenient: bool = False,
    ) -> list[Event]:
        """See EventLog."""
        if timeout <= 0:
            return await self.call("wait_once", checkpoint, lenient=lenient)
        return await self.call("wait", checkpoint, timeout, lenient=lenient)

    async def trim(self, up_to: int) -> int:
        """See EventLog."""
        return await self.call("trim", up_to)

    async def snapshot_numbers(self) -> list[int]:
        """See EventLog."""
        return await self.call("snapshot_numbers")

    async def get_snapshot(self, n: int) -> bytes | None:
        """See EventLog."""
        return await self.call("get_snapshot", n)

    async def put_snapshot(self, n: int, data: bytes) -> None:
        """See EventLog."""
        await self.call("put_snapshot", n, data)

    async def drop_snapshot(self, n: int) -> None:
        """See EventLog."""
        await self.call("drop_snapshot", n)


class _SimulatedSide(SideStreams):
    """See SideStreams."""

    def __init__(self, log: SimulatedLog) -> None:
        self._log = log

    async def add(
        self, name: str, fields: Mapping[str, str | bytes], *, keep: int, max_age: float | None = None
    ) -> str:
        """See SideStreams."""
        return await self._log.call("side.add", name, dict(fields), keep=keep, max_age=max_age)

    async def read(self, after: Mapping[str, str], *, count: int = SIDE_COUNT) -> dict[str, Sequence[SideEntry]]:
        """See SideStreams."""
        return await self._log.call("side.read", dict(after), count=count)

    async def names(self, kind: str) -> list[str]:
        """See SideStreams."""
        return await self._log.call("side.names", kind)

    async def drop(self, name: str, ids: Sequence[str]) -> None:
        """See SideStreams."""
        await self._log.call("side.drop", name, list(ids))
