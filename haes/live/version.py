"""Which program this is, as it tells the others."""

from importlib.metadata import version

PROGRAM_VERSION = version("haes")
