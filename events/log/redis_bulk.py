"""Reading a stream as fast as one core can: a connection of its own that waits for replies and does nothing else.

The server works on the next part while the caller works on the last one. Knows nothing of numbers: gaps, foreign
entries and what they hold are for the caller.
"""

from collections.abc import Generator
from typing import Any

from redis.backoff import NoBackoff
from redis.connection import Connection, parse_url
from redis.retry import Retry

from events.log.port import RawEntry
from events.log.redis_client import COMMAND_TIMEOUT, CONNECT_TIMEOUT, READ_SIZE
from events.log.redis_errors import translated

# Entries per request. With fewer the server is asked too often; with more what was parsed does not fit into a core's
# cache (2000 need some 3 MB) until it is used, and both are slower.
BULK_COUNT = 500


def bulk_entries(url: str, shown: str, key: str, start: str) -> Generator[list[RawEntry], None, None]:
    """Yields all entries of a stream after an id, some hundred at a time, in the form that the server sends.

    Args:
        url: of the server, as checked when the log was opened.
        shown: the URL as messages show it.
        key: of the stream.
        start: the id.

    Raises:
        LogUnavailable: the server cannot be reached or does not answer.
    """
    connection = _connect(url, shown)

    def ask(after: bytes) -> None:
        connection.send_command("XRANGE", key, b"(" + after, "+", "COUNT", BULK_COUNT, check_health=False)

    try:
        with translated(shown):
            ask(start.encode())
        while True:
            with translated(shown):
                reply: list[RawEntry] = connection.read_response(disable_decoding=True)
                if not reply:
                    return
                if len(reply) == BULK_COUNT:
                    ask(reply[-1][0])
            yield reply
            if len(reply) < BULK_COUNT:
                return
    finally:
        connection.disconnect()


def _connect(url: str, shown: str) -> Any:
    """Returns a connection that sends every command once, as everywhere; the client has no types for it."""
    options: dict[str, Any] = {
        **parse_url(url),  # type: ignore[no-untyped-call]  # of redis-py
        "socket_timeout": COMMAND_TIMEOUT,
        "socket_connect_timeout": CONNECT_TIMEOUT,
        "socket_read_size": READ_SIZE,
        "retry": Retry(NoBackoff(), 0),
        # As for the other connections: the shape of a reply depends on it.
        "protocol": 2,
    }
    kind = options.pop("connection_class", Connection)
    connection = kind(**options)
    with translated(shown):
        connection.connect()
    return connection
