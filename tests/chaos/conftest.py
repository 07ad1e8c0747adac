"""Fixtures of the chaos tests: a server and a cluster on it, both of which end with the test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.cluster import LiveCluster
from tests.chaos.redis_server import RedisServer


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[RedisServer]:
    """Provides a running server."""
    server = RedisServer(tmp_path / "redis")
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


@pytest.fixture
async def make(tmp_path: Path, redis: RedisServer) -> AsyncIterator[Callable[..., Awaitable[LiveCluster]]]:
    """Provides a function that starts a cluster and waits until it rests."""
    clusters: list[LiveCluster] = []

    async def start(*, wait: bool = True, **values: Any) -> LiveCluster:
        cluster = LiveCluster(tmp_path, redis.url, **values)
        clusters.append(cluster)
        await cluster.start()
        if wait:
            await cluster.settle()
        return cluster

    try:
        yield start
    finally:
        for cluster in clusters:
            await cluster.destroy()
