"""From a URL to an event log: the schemes, what they mean, and a context that opens and closes; knows no log inside.

| URL | log |
|---|---|
| `memory:` | in this process, gone with it |
| `embedded:PATH` | a private Redis server that keeps its data in the folder PATH |
| `redis://…`, `rediss://…`, `unix://…` | a Redis server that somebody runs |
| `redis+sentinel://HOST,HOST/SERVICE` | the server that Sentinels watch, whichever it is |
| `redis+cluster://HOST,HOST` | the server of a Redis Cluster that has the keys of this cluster |

The last two are also there as `rediss+…`, encrypted.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from events.embedded import EmbeddedLog
from events.errors import UserError
from events.log.durability import LOCAL
from events.log.memory import MemoryLog
from events.log.port import EventLog
from events.log.redis import RedisLog
from events.log.redis_client import SCHEMES
from events.log.redis_errors import hide_password

ALLOWED = (
    "memory:, embedded:PATH, redis://HOST, rediss://HOST, unix://PATH, redis+sentinel://HOST,HOST/SERVICE, "
    "redis+cluster://HOST,HOST"
)


def open_log(url: str, cluster: str, durability: str = LOCAL) -> EventLog:
    """Returns the log that a URL names; `open` makes it ready, `close` gives everything back.

    Args:
        url: of the log.
        cluster: name of the cluster.
        durability: when an append counts as done, see `events/log/durability.py`; for logs on a server.

    Raises:
        UserError: the URL, the name of the cluster or the durability is not allowed.
    """
    scheme, _, rest = url.partition(":")
    match scheme:
        case "memory" if not rest:
            return MemoryLog(cluster)
        case "embedded" if rest:
            return EmbeddedLog(Path(rest).expanduser(), cluster, durability=durability)
        case scheme if scheme in SCHEMES and rest.startswith("//"):
            return RedisLog(url, cluster, durability=durability)
        case _:
            raise UserError(f"'{hide_password(url)}' is not the URL of an event log; allowed are {ALLOWED}")


@asynccontextmanager
async def connect(url: str, cluster: str) -> AsyncIterator[EventLog]:
    """Opens the log that a URL names for a block, and closes it after.

    Raises:
        UserError: as by `open_log` and `EventLog.open`.
        LogUnavailable: the server cannot be reached.
    """
    log = open_log(url, cluster)
    await log.open()
    try:
        yield log
    finally:
        await log.close()
