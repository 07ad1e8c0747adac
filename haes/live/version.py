"""Which program this is, as it tells the others."""

from haes.version import PROGRAM_VERSION

__all__ = ["PROGRAM_VERSION"]
