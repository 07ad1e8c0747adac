"""A page on a small cluster."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.embedded import EmbeddedRedis
from events.log.redis import RedisLog
from tests.web.page import CLUSTER, Page, page_on


@pytest.fixture
async def page(server: EmbeddedRedis, tmp_path: Path) -> AsyncIterator[Page]:
    """Provides a running page on a server with a small cluster; eve may act."""
    log = RedisLog(server.url, CLUSTER)
    await log.open()
    try:
        async with page_on(log, server.url, tmp_path) as page:
            yield page
    finally:
        await log.close()
