"""Fixtures of the live shell's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.live.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Provides a cluster of three nodes with three services; nothing runs yet."""
    world = World(tmp_path, {"vm:1": "node1", "vm:2": "node1", "vm:3": "node2"})
    try:
        yield world
    finally:
        await world.end()
