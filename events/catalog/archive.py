"""Events about the archive of old events."""

from events.schema import declare

declare(
    "archive.written",
    "first last sha256 file",
    meaning="these events lie in a file, too, which was read back and compared",
)
