"""The servers that the product is tested on: the one that comes with it, and the one of the distribution where it is."""

import shutil

import pytest

from events.programs import bundled_program

BUNDLED, MACHINE = "bundled", "redis-server"

# For `@pytest.mark.parametrize("server", EVERY_SERVER, indirect=True)`.
EVERY_SERVER = [
    pytest.param(BUNDLED, id="bundled"),
    pytest.param(
        MACHINE,
        id="of-the-machine",
        marks=pytest.mark.skipif(
            shutil.which(MACHINE) is None, reason="no redis-server is here: apt-get install redis-server"
        ),
    ),
]


def program_of(name: str) -> str:
    """Returns the program of one of them."""
    program = bundled_program() if name == BUNDLED else shutil.which(name)
    assert program is not None
    return program
