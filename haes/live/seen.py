"""What a process knows of the log across its own restarts: which one it was, and how far it went."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from events.private import write_private


@dataclass(frozen=True, slots=True)
class Seen:
    """The end of the log as a process last saw it."""

    log_id: str
    n: int
    generation: int


class SeenFile:
    """Keeps it in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._last: Seen | None = None

    def load(self) -> Seen | None:
        """Returns what was kept, None if nothing was, or nothing that can be read."""
        try:
            return Seen(**json.loads(self._file.read_text()))
        except (OSError, TypeError, ValueError):
            return None

    def save(self, seen: Seen) -> None:
        """Keeps it."""
        if seen != self._last:
            new = self._file.with_suffix(".new")
            write_private(new, json.dumps(asdict(seen)))
            new.replace(self._file)
            self._last = seen
