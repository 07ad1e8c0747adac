"""The Lua scripts of the log: loads them and knows their names and digests; what they do is in the files themselves.

Each `.lua` file beside this module says at its top what keys and arguments it takes and what it returns.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

# Put in front of the scripts that need domain time or the head.
_PRELUDE = "clock.lua"


@dataclass(frozen=True, slots=True)
class Script:
    """A script and the digest under which the server caches it."""

    source: bytes
    digest: str


def _load(name: str, *, prelude: bool = True) -> Script:
    """Reads a script; the digest is that of everything the server gets."""
    folder = files(__package__)
    names = [_PRELUDE, name] if prelude else [name]
    source = b"\n".join((folder / each).read_bytes() for each in names)
    # The server names scripts by SHA-1; nothing is protected by it.
    return Script(source, hashlib.sha1(source, usedforsecurity=False).hexdigest())


CREATE = _load("create.lua")
LEASE = _load("lease.lua")
APPEND = _load("append.lua")
GENERATION = _load("generation.lua")
FIND = _load("find.lua", prelude=False)
REPLACE = _load("replace.lua")
