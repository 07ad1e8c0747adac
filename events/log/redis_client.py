"""Connections to a Redis server, as an event log needs them; knows nothing of streams or leases.

The client's defaults re-send a command whose reply was lost, which writes events twice. Here nothing is ever re-sent.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hiredis import pack_command
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, ResponseError

from events.errors import UserError
from events.log.redis_errors import hide_password
from events.log.redis_places import SENTINEL, MovingConnection, MovingTlsConnection, read_places, split_scheme
from events.log.scripts import Script

# Seconds for a connection to be made: several round trips across a slow network, far less than a term of a lease.
CONNECT_TIMEOUT = 2.0
# Seconds for the reply to a command. The longest script takes some 0.1 s and a fork of a large server some 0.5 s; a
# server that takes longer than this is as good as gone for a leader with rounds of 10 s.
COMMAND_TIMEOUT = 3.0
# Seconds for which the server may hold back the reply to a blocking read. Short, so that a follower notices a log that
# was replaced, and a connection that died silently, within seconds.
BLOCK_LIMIT = 2.0
# Seconds for the reply to a blocking read: it must come after the server has ended the block by itself, or every quiet
# period would look like a broken connection.
READER_TIMEOUT = BLOCK_LIMIT + COMMAND_TIMEOUT
# Bytes per read of a socket: a chunk of 1000 entries is some 200 kB.
READ_SIZE = 1 << 18

# Calls of a script that are sent at once; as many again may be under way. Enough to make a round trip cheap.
PIPELINE_CALLS = 10

# Keys and arguments of one run of a script.
Call = tuple[Sequence[str], Sequence[bytes | str | int]]

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
# What may stand in the query of a URL. Timeouts and protocol may not: what is right for them is known here.
_QUERY = ("db", "username", "password")
_QUERY_WITH_TLS = (
    *_QUERY,
    *("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password"),
    *("ssl_cert_reqs", "ssl_check_hostname"),
)


def _address(url: str, cluster: str) -> dict[str, Any]:
    """Returns what the URL says about the server, as arguments of a connection pool."""
    shown = hide_password(url)
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise UserError(
            f"{shown}: '{parts.scheme}' is not a scheme of a Redis server; allowed are {', '.join(SCHEMES)}"
        )
    base, kind = split_scheme(parts.scheme)
    allowed = _QUERY_WITH_TLS if base == "rediss" else _QUERY
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if name not in allowed:
            raise UserError(f"{shown}: '{name}' is not known in such a URL; allowed are {', '.join(allowed)}")
    if kind:
        return _moving(url, shown, cluster)
    try:
        options = dict(parse_url(url))
    except ValueError as error:
        raise UserError(f"{shown}: {error}") from error
    if parts.scheme == "unix" and not options.get("path"):
        raise UserError(f"{shown}: the path of the socket is missing")
    return options


def _moving(url: str, shown: str, cluster: str) -> dict[str, Any]:
    """Returns the arguments for a server whose place is asked for at every connection."""
    parts = urlsplit(url)
    base, kind = split_scheme(parts.scheme)
    try:
        user = parts.netloc.rpartition("@")[0]
        # The address stands for whichever it is; user, password and query are the server's.
        options = dict(
            parse_url(f"{base}://{user}@moving/?{parts.query}" if user else f"{base}://moving/?{parts.query}")
        )
    except ValueError as error:
        raise UserError(f"{shown}: {error}") from error
    tls = options.pop("connection_class", None) is not None
    asking = {name: value for name, value in options.items() if name not in {"host", "port", "db"}}
    if tls:
        asking["ssl"] = True
    if kind == SENTINEL:
        # Sentinels have users of their own, mostly none.
        asking = {name: value for name, value in asking.items() if name not in {"username", "password"}}
    options["places"] = read_places(url, shown, cluster, asking)
    options["connection_class"] = MovingTlsConnection if tls else MovingConnection
    return options


def make_client(
    url: str,
    cluster: str,
    *,
    timeout: float,
    on_connect: Callable[[AbstractConnection], Awaitable[None]] | None = None,
) -> "Redis":
    """Makes a client that sends every command once.

    Args:
        url: of the server.
        cluster: name of the cluster, which decides where its keys are in a cluster of servers.
        timeout: seconds for the reply to a command.
        on_connect: makes a new connection ready, in place of the client's own way.

    Raises:
        UserError: the URL is not one of a Redis server.
    """
    options = _address(url, cluster) | {
        "socket_timeout": timeout,
        "socket_connect_timeout": CONNECT_TIMEOUT,
        "socket_read_size": READ_SIZE,
        "retry": Retry(NoBackoff(), 0),
        # Both are pinned, because the shape of a reply depends on both, and on the version of the client.
        "protocol": 2,
        "legacy_responses": False,
        "redis_connect_func": on_connect,
    }
    client = Redis.from_pool(ConnectionPool(**options))
    # The entries of a stream stay as the server sends them: flat lists, the form that the codec decodes.
    for command in ("XRANGE", "XREAD"):
        client.set_response_callback(command, _unchanged)
    return client


def _unchanged(response: object, **_: object) -> object:
    return response


async def ask(connection: AbstractConnection, *command: bytes | str | int) -> Any:
    """Sends one command on a connection of its own and returns the reply as it comes."""
    await connection.send_command(*command, check_health=False)
    return await connection.read_response()


def _pack(script: Script, call: Call) -> bytes:
    """Returns the command that runs a script, as it goes over the wire."""
    keys, arguments = call
    command: tuple[Any, ...] = ("EVALSHA", script.digest, len(keys), *keys, *arguments)
    packed: bytes = pack_command(command)
    return packed


async def _stream(connection: AbstractConnection, commands: Iterator[bytes], sent: list[bytes]) -> list[Any]:
    """Sends packed commands, at most twice PIPELINE_CALLS ahead of their replies, and returns these.

    An error that the server answers stands in the place of its reply. What was sent is added to `sent`.
    """
    replies: list[Any] = []
    behind = 0
    while part := list(islice(commands, PIPELINE_CALLS)):
        await connection.send_packed_command(part, check_health=False)
        await _collect(connection, behind, replies)
        behind = len(part)
        sent += part
    await _collect(connection, behind, replies)
    return replies


async def _collect(connection: AbstractConnection, count: int, replies: list[Any]) -> None:
    """Reads some replies."""
    for _ in range(count):
        try:
            replies.append(await connection.read_response())
        except ResponseError as error:
            replies.append(error)


class Server:
    """A Redis server as the log uses it: a client for commands, another one for reads that block."""

    def __init__(
        self, url: str, shown: str, cluster: str, on_other_server: Callable[[AbstractConnection, str], Awaitable[None]]
    ) -> None:
        """Prepares the clients; they connect when they are first used.

        Args:
            url: of the server.
            shown: the URL as messages show it.
            cluster: name of the cluster.
            on_other_server: called on each new connection, before anything else is sent on it, when it leads to a
                server with another run id than the one before: another server took over, or it was restarted.
        """
        self.shown = shown
        self.run_id: str | None = None
        # The server has commands for scripts that only read (Redis 7 and newer).
        self.tells_reading = False
        self._on_other_server = on_other_server
        self.commands = make_client(url, cluster, timeout=COMMAND_TIMEOUT, on_connect=self._greet)
        # Its own connections, because a blocked one can do nothing else, and its own, longer timeout.
        self.followers = make_client(url, cluster, timeout=READER_TIMEOUT)

    async def close(self) -> None:
        """Closes all connections."""
        await self.commands.aclose()
        await self.followers.aclose()

    async def run(self, script: Script, keys: Sequence[str], arguments: Sequence[bytes | str | int]) -> Any:
        """Runs a script; one that the server does not know (any more) is sent in full.

        Raises what the client raises.
        """
        try:
            return await self.execute("EVALSHA", script.digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return await self.execute("EVAL", script.source, len(keys), *keys, *arguments)

    async def run_reading(self, script: Script, keys: Sequence[str], arguments: Sequence[bytes | str | int]) -> Any:
        """Runs a script that only reads, with no more rights than reading takes where the server tells them apart.

        Raises what the client raises.
        """
        if not self.tells_reading:
            return await self.run(script, keys, arguments)
        try:
            return await self.execute("EVALSHA_RO", script.digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return await self.execute("EVAL_RO", script.source, len(keys), *keys, *arguments)

    async def run_and_prove(
        self,
        script: Script,
        keys: Sequence[str],
        arguments: Sequence[bytes | str | int],
        touched: str,
        proof: Sequence[str | int],
    ) -> tuple[Any, Any]:
        """Runs a script, then asks on the same connection how far what it wrote has got; returns both replies.

        A repeated append writes nothing, and a server proves only what a connection has written, so a counter in the
        hash `touched` is written before it is asked.

        Raises what the client raises.
        """
        connection = await self.borrow()
        try:
            try:
                reply = await ask(connection, "EVALSHA", script.digest, len(keys), *keys, *arguments)
            except NoScriptError:
                reply = await ask(connection, "EVAL", script.source, len(keys), *keys, *arguments)
            await ask(connection, "HINCRBY", touched, "proofs", 1)
            return reply, await ask(connection, *proof)
        except ResponseError:
            raise
        except BaseException:
            await connection.disconnect()
            raise
        finally:
            await self.give_back(connection)

    async def run_many(self, script: Script, calls: Iterable[Call]) -> list[Any]:
        """Runs a script once for each call, in order, in few round trips, and returns the replies.

        An error that the server answers stands in the place of its reply. Calls are made and packed while the server
        works on those before; packing is done by hiredis, which takes a tenth of the time of the client's own pipeline.
        A script that the server does not know is loaded, and the calls that met this are made once more.

        Raises what the client raises when the connection breaks; then any of the calls may have been carried out.
        """
        sent: list[bytes] = []
        connection = await self.borrow()
        try:
            replies = await _stream(connection, (_pack(script, call) for call in calls), sent)
            unknown = [index for index, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if unknown:
                await ask(connection, "SCRIPT", "LOAD", script.source)
                again = await _stream(connection, iter([sent[index] for index in unknown]), [])
                for index, reply in zip(unknown, again, strict=True):
                    replies[index] = reply
        except BaseException:
            # Replies nobody will read must not meet the connection's next user.
            await connection.disconnect()
            raise
        finally:
            await self.give_back(connection)
        return replies

    async def execute(self, *command: bytes | str | int) -> Any:
        """Sends one command and returns the reply as the client shapes it."""
        return await self.commands.execute_command(*command)  # type: ignore[no-untyped-call]  # of redis-py

    async def borrow(self) -> AbstractConnection:
        """Takes a connection out of the pool; give it back with `give_back`."""
        pool = self.commands.connection_pool
        connection: AbstractConnection = await pool.get_connection()  # type: ignore[no-untyped-call]  # of redis-py
        return connection

    async def give_back(self, connection: AbstractConnection) -> None:
        """Puts a connection back; a reply that nobody will read must not be on its way."""
        await self.commands.connection_pool.release(connection)

    async def info(self, section: str) -> dict[str, str]:
        """Returns a section of what the server says about itself."""
        connection = await self.borrow()
        try:
            return parse_info(await ask(connection, "INFO", section))
        finally:
            await self.give_back(connection)

    async def _greet(self, connection: AbstractConnection) -> None:
        await connection.on_connect()
        if self.run_id is None:
            return
        run_id = parse_info(await ask(connection, "INFO", "server")).get("run_id", "")
        if run_id != self.run_id:
            await self._on_other_server(connection, run_id)
            self.run_id = run_id


def parse_info(text: bytes) -> dict[str, str]:
    """Reads what INFO answers."""
    pairs = (line.partition(":") for line in text.decode().splitlines())
    return {name: value for name, colon, value in pairs if colon}
