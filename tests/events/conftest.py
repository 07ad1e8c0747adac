"""Fixtures of the event log's tests: an embedded server in a folder of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings

from events.embedded import EmbeddedRedis

# Machines under load take their time; a property does not become false by that.
settings.register_profile("haes", deadline=None)
settings.load_profile("haes")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[EmbeddedRedis]:
    """Provides a running server with nothing in it."""
    server = EmbeddedRedis(tmp_path / "data")
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
