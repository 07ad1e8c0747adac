"""Where in a TOML file a key stands, so that an error can name the line; finds nothing that the parser refused."""

import re
import tomllib
from collections.abc import Sequence
from typing import Any

_TABLE = re.compile(r"^\s*\[+\s*(?P<path>[^\]]+?)\s*\]+\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*(?P<path>(?:"[^"]*"|'[^']*'|[A-Za-z0-9_.\-\s])+?)\s*=""")


def line_of(text: str, path: Sequence[str]) -> int | None:
    """Returns the line (from 1) of a key, or of the innermost table around it that stands there; None if none does.

    Args:
        text: the whole file.
        path: the key and the tables around it, outermost first.
    """
    wanted = list(path)
    best: tuple[int, int] | None = None
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TABLE.match(line):
            table = _names(match["path"])
            here = table
        elif match := _KEY.match(line):
            here = table + _names(match["path"])
        else:
            continue
        if here and here == wanted[: len(here)] and (best is None or len(here) > best[0]):
            best = (len(here), number)
    return None if best is None else best[1]


def _names(path: str) -> list[str]:
    """Splits a dotted, perhaps quoted, key."""
    try:
        data: Any = tomllib.loads(f"{path} = 0")
    except tomllib.TOMLDecodeError:
        return []
    names = []
    while isinstance(data, dict):
        [(name, data)] = data.items()
        names.append(name)
    return names
