"""Where the server of a log is when that changes: behind Sentinels, or in a cluster of servers; asked anew each time.

Knows nothing of what is sent there. A server that turned out to be the wrong one (it was demoted, or its keys moved)
ends the connection, and the next connection goes where the right one is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import AskError, ConnectionError, MovedError, ReadOnlyError, RedisError  # noqa: A004 - as in redis

from events.errors import UserError

SENTINEL, CLUSTER = "sentinel", "cluster"
DEFAULT_PORTS = {SENTINEL: 26379, CLUSTER: 6379}
# Seconds for one of those who know the place to answer: another one is asked then.
ASK_TIMEOUT = 1.0

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Places:
    """Whom to ask for the server, and for what.

    Attributes:
        kind: `sentinel` or `cluster`.
        asked: addresses of those who know.
        service: the name under which Sentinels watch the server; empty for a cluster.
        slot: the slot of the log's keys in a cluster.
        options: how to connect to those who are asked.
    """

    kind: str
    asked: tuple[Address, ...]
    service: str
    slot: int
    options: dict[str, Any]

    async def find(self) -> Address:
        """Returns where the server is right now.

        Raises:
            ConnectionError: nobody who was asked knows.
        """
        why = "nobody was asked"
        for host, port in self.asked:
            client = Redis(
                host=host,
                port=port,
                protocol=2,
                legacy_responses=False,
                socket_timeout=ASK_TIMEOUT,
                socket_connect_timeout=ASK_TIMEOUT,
                retry=Retry(NoBackoff(), 0),
                **self.options,
            )
            try:
                found = await (
                    _of_sentinel(client, self.service) if self.kind == SENTINEL else _of_cluster(client, self.slot)
                )
            except (RedisError, OSError, TimeoutError) as error:
                why = f"{host}:{port}: {error}"
                continue
            finally:
                await client.aclose()
            if found is not None:
                # A cluster's node may not know its own name.
                return found[0] or host, found[1]
            why = f"{host}:{port} does not know it"
        raise ConnectionError(f"nobody knows where the server is ({why})")


async def _of_sentinel(client: "Redis", service: str) -> Address | None:
    found: Any = await client.execute_command("SENTINEL", "get-master-addr-by-name", service)  # type: ignore[no-untyped-call]
    return None if not found else (bytes(found[0]).decode(), int(found[1]))


async def _of_cluster(client: "Redis", slot: int) -> Address | None:
    client.response_callbacks.clear()
    ranges: Any = await client.execute_command("CLUSTER", "SLOTS")  # type: ignore[no-untyped-call]
    for first, last, server, *_ in ranges:
        if first <= slot <= last:
            return bytes(server[0]).decode(), int(server[1])
    return None


class _Moving:
    """What a connection does whose server may move; mixed into the kinds of connections."""

    host: str
    port: int

    def __init__(self, *, places: Places, **options: Any) -> None:
        self._places = places
        super().__init__(**options)

    async def _connect(self) -> None:
        self.host, self.port = await self._places.find()
        await super()._connect()  # type: ignore[misc]  # of the connection that this is mixed into

    async def read_response(self, *arguments: Any, **options: Any) -> Any:
        """Reads a reply; one that says that this is the wrong server ends the connection."""
        try:
            return await super().read_response(*arguments, **options)  # type: ignore[misc]  # see _connect
        except (ReadOnlyError, MovedError, AskError) as error:
            await self.disconnect()  # type: ignore[attr-defined]  # see _connect
            raise ConnectionError(f"the server at {self.host}:{self.port} is not the one any more ({error})") from error


class MovingConnection(_Moving, Connection):
    """A connection to a server that may move."""


class MovingTlsConnection(_Moving, SSLConnection):
    """The same, encrypted."""


def split_scheme(scheme: str) -> tuple[str, str]:
    """Returns (scheme of the server, kind of places or empty): `rediss+sentinel` is (rediss, sentinel)."""
    base, _, kind = scheme.partition("+")
    return base, kind


def read_places(url: str, shown: str, cluster: str, options: dict[str, Any]) -> Places:
    """Returns whom a URL says to ask.

    Args:
        url: `redis+sentinel://HOST:PORT,HOST:PORT/SERVICE` or `redis+cluster://HOST:PORT,...`.
        shown: the URL without its password.
        cluster: name of the cluster, whose keys all lie in one slot.
        options: how to connect to those who are asked.

    Raises:
        UserError: it does not say so properly.
    """
    parts = urlsplit(url)
    kind = split_scheme(parts.scheme)[1]
    hosts = parts.netloc.rpartition("@")[2]
    service = parts.path.strip("/")
    if kind == SENTINEL and not service:
        raise UserError(f"{shown}: the name of the service is missing; expected redis+sentinel://HOST,HOST/SERVICE")
    if kind == CLUSTER and service:
        raise UserError(f"{shown}: a cluster has no database numbers; expected redis+cluster://HOST,HOST")
    return Places(kind, tuple(_addresses(hosts, kind, shown)), service, key_slot(cluster.encode()), options)


def _addresses(hosts: str, kind: str, shown: str) -> Sequence[Address]:
    found = []
    for item in hosts.split(","):
        host, _, port = item.rpartition(":") if ":" in item.rpartition("]")[2] else (item, "", "")
        if not host or (port and not port.isdecimal()):
            raise UserError(f"{shown}: '{item}' is no address; expected HOST or HOST:PORT")
        found.append((host.strip("[]"), int(port or DEFAULT_PORTS[kind])))
    return found
