"""Cutting what is measured into parts; used by several benchmarks."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any


def in_parts(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yields items in lists of a size."""
    source = iter(items)
    while part := list(islice(source, size)):
        yield part
