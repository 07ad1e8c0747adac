"""Ids that nobody else has: of logs, of terms of leases, of appends; the only place where chance comes in."""

import secrets
from collections.abc import Callable
from contextvars import ContextVar

# Bytes: enough that two never meet.
LENGTH = 8


def _random() -> str:
    return secrets.token_hex(LENGTH)


_source: ContextVar[Callable[[], str]] = ContextVar("source", default=_random)


def new_id() -> str:
    """Returns an id."""
    return _source.get()()


def use_source(source: Callable[[], str]) -> None:
    """Lets the present context, and whatever is started in it, take its ids from elsewhere: from a seed, to repeat."""
    _source.set(source)
