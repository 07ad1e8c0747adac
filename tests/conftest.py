"""What all tests share: where the common material lies, and how patient property tests are."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
