"""URLs of event logs: what each names, and what is refused."""

from pathlib import Path

import pytest

from events.embedded import EmbeddedLog
from events.errors import UserError
from events.log.memory import MemoryLog
from events.log.redis import RedisLog
from events.log.redis_errors import hide_password
from events.url import connect, open_log
from tests.events.kinds import happened


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory:", MemoryLog),
        ("embedded:/tmp/data", EmbeddedLog),
        ("redis://localhost:6379/0", RedisLog),
        ("rediss://user:password@example.org", RedisLog),
        ("unix:///run/redis.sock", RedisLog),
    ],
)
def test_each_scheme_names_a_kind_of_log(url: str, kind: type) -> None:
    """The scheme alone decides which log it is."""
    log = open_log(url, "test")
    assert type(log) is kind
    assert log.cluster == "test"


@pytest.mark.parametrize("url", ["", "memory:x", "embedded:", "redis:localhost", "http://x", "localhost:6379", "/data"])
def test_anything_else_is_refused(url: str) -> None:
    """A URL that names no log is quoted, with what is allowed."""
    with pytest.raises(UserError, match=r"allowed are memory:, embedded:PATH") as caught:
        open_log(url, "test")
    assert f"'{url}'" in str(caught.value)


@pytest.mark.parametrize("cluster", ["", "a b", "{a}", "-a", "a" * 64, "ä", "a/b"])
def test_a_cluster_that_cannot_be_part_of_a_key_is_refused(cluster: str) -> None:
    """Names of clusters are safe in keys and paths."""
    with pytest.raises(UserError, match="cluster name"):
        open_log("redis://localhost", cluster)


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("redis://localhost:port", "port"),
        ("redis://localhost/?socket_timeout=60", "socket_timeout"),
        ("redis://localhost/?protocol=3", "protocol"),
        ("redis://localhost/?ssl_ca_certs=x", "ssl_ca_certs"),
        ("rediss://localhost/?ssl_nonsense=1", "ssl_nonsense"),
        ("unix://", "path"),
    ],
)
async def test_a_url_with_mistakes_is_refused(url: str, match: str) -> None:
    """Ports, databases and options that do not exist are refused when the log is opened, by name."""
    with pytest.raises(UserError, match=match):
        await open_log(url, "test").open()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:secret@host:1/0", "redis://user:***@host:1/0"),
        ("redis://:secret@host", "redis://:***@host"),
        ("redis://user@host", "redis://user@host"),
        ("unix:///run/redis.sock?db=1&password=secret", "unix:///run/redis.sock?db=1&password=***"),
        ("rediss://host?ssl_password=secret&db=1", "rediss://host?ssl_password=***&db=1"),
        ("memory:", "memory:"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    """URLs in messages carry no password, and are otherwise as they were given."""
    assert hide_password(url) == shown


async def test_a_connection_opens_and_closes(tmp_path: Path) -> None:
    """The context starts what the log needs and stops it, also when the block fails."""
    opened: list[EmbeddedLog] = []

    async def fail() -> None:
        async with connect(f"embedded:{tmp_path}", "test") as log:
            assert isinstance(log, EmbeddedLog)
            assert log.server.pid is not None
            opened.append(log)
            token = await log.acquire("leader", "node1")
            await log.append([happened()], token=token)
            raise RuntimeError("of the block")

    with pytest.raises(RuntimeError, match="of the block"):
        await fail()
    assert opened[0].server.pid is None
    async with connect(f"embedded:{tmp_path}", "test") as again:
        assert (await again.head()).n == 1
