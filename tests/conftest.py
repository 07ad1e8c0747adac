"""What all tests share: where the common material lies, a server, and how patient property tests are."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings

from events import embedded
from events.embedded import EmbeddedRedis
from tests.servers import program_of

# Machines under load take their time; a property does not become false by that.
settings.register_profile("haes", deadline=None)
settings.load_profile("haes")

# The folder beside the repository that holds what is not part of it, such as the whole corpus of scenarios.
SHARED = Path(os.environ.get("HAES_SHARED") or Path(__file__).parent.parent.parent / "shared")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Provides the shared folder; tests that need it are skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is missing; set HAES_SHARED to run what needs it")
    return SHARED


@pytest.fixture
async def server(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[EmbeddedRedis]:
    """Provides a running server with nothing in it: what the product would choose, or the one that a test names."""
    if hasattr(request, "param"):
        program = program_of(request.param)
        monkeypatch.setattr(embedded, "find_program", lambda _: program)
    server = EmbeddedRedis(tmp_path / "data")
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
