"""How single values of a configuration are checked; knows no key. Every error names its origin and what is allowed."""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from events.errors import UserError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB)?")
_FACTORS = {None: 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
# Larger numbers are slips of the pen, and beyond what a float keeps exactly.
LARGEST = 2**53


def refuse(origin: str, key: str, value: object, allowed: str) -> UserError:
    """Returns the error for a value that is not allowed."""
    return UserError(f"{origin}: '{key}' cannot be {value!r}; allowed is {allowed}")


def check_keys(origin: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuses keys that nobody knows.

    Raises:
        UserError: names the first one and those that are known.
    """
    names = sorted(known)
    for key in given:
        if key not in names:
            raise UserError(f"{origin}: unknown key '{key}'; known are {', '.join(names)}")


def text(origin: str, key: str, value: object) -> str:
    """Returns a text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise refuse(origin, key, value, "a text")


def choice(origin: str, key: str, value: object, allowed: Iterable[str]) -> str:
    """Returns one of several words."""
    words = list(allowed)
    if value in words:
        return str(value)
    raise refuse(origin, key, value, " or ".join(words))


def flag(origin: str, key: str, value: object) -> bool:
    """Returns true or false."""
    if isinstance(value, bool):
        return value
    raise refuse(origin, key, value, "true or false")


def count(origin: str, key: str, value: object, *, lowest: int = 0) -> int:
    """Returns a whole number."""
    if isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= LARGEST:
        return value
    raise refuse(origin, key, value, f"a whole number from {lowest} on")


def seconds(origin: str, key: str, value: object, *, lowest: float, highest: float = 86400.0) -> float:
    """Returns a duration."""
    if isinstance(value, int | float) and not isinstance(value, bool) and lowest <= value <= highest:
        return float(value)
    raise refuse(origin, key, value, f"a number of seconds from {lowest:g} to {highest:g}")


def number(origin: str, key: str, value: object) -> float:
    """Returns a number above zero."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LARGEST:
        return float(value)
    raise refuse(origin, key, value, "a number above 0")


def size(origin: str, key: str, value: object) -> int:
    """Returns a number of bytes, given as such or as `512 MiB`."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        value = int(float(match[1]) * _FACTORS[match[2]])
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST:
        return value
    raise refuse(origin, key, value, "a number of bytes, or a text such as '512 MiB'")


def command(origin: str, key: str, value: object) -> list[str]:
    """Returns a command line as a list of words; a text is split as a shell would, but no shell runs it."""
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            raise UserError(f"{origin}: '{key}' cannot be split into words ({error})") from error
    if isinstance(value, list) and value and all(isinstance(word, str) and "\0" not in word for word in value):
        return list(value)
    raise refuse(origin, key, value, "a command line, as a text or a list of words")


def environment(origin: str, key: str, value: object) -> dict[str, str]:
    """Returns environment variables."""
    if isinstance(value, Mapping) and all(
        isinstance(name, str) and name and "=" not in name and isinstance(content, str)
        for name, content in value.items()
    ):
        return dict(value)
    raise refuse(origin, key, value, "a table of texts")
