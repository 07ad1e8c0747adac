"""Files that nobody but their owner may read: how they are made, and how those of earlier versions are closed.

A data folder holds the environments of services, a node's folder what they print. Only what bears a name that we give
is closed: a folder that a user named may hold other things, too.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FILE, FOLDER = 0o600, 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def opener(path: str, flags: int) -> int:
    """Opens a file that is private from its beginning; for `open(..., opener=opener)`."""
    return os.open(path, flags, FILE)


def write_private(path: Path, text: str) -> None:
    """Writes a private file."""
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        file.write(text)


def close_to_others(folder: Path, names: Iterable[str]) -> None:
    """Takes every right of others from what is there already; what is not ours to change stays as it is.

    Args:
        folder: where to look.
        names: of files, and of folders with all that is in them; patterns.
    """
    for name in names:
        for path in folder.glob(name):
            _close(path)
            for inner in path.rglob("*") if path.is_dir() and not path.is_symlink() else ():
                _close(inner)


def _close(path: Path) -> None:
    # Another process may take the file away meanwhile, and another user's cannot be changed.
    with suppress(OSError):
        mode = path.lstat().st_mode
        if mode & _OTHERS and (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
