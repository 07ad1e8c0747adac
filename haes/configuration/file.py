"""Reads a cluster's file (TOML) and says where in it something is wrong; knows no key."""

import tomllib
from pathlib import Path

from events.errors import UserError
from haes.configuration.cluster import ClusterConfiguration, Misplaced, check_cluster
from haes.configuration.locate import line_of


def read_cluster(path: Path) -> ClusterConfiguration:
    """Reads a cluster's file.

    Raises:
        UserError: it cannot be read, or says something that is not allowed; names file, line and key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(f"{path}: cannot be read ({reason})") from error
    return parse_cluster(text, str(path))


def parse_cluster(text: str, name: str) -> ClusterConfiguration:
    """Makes a configuration of a file's text.

    Raises:
        UserError: as by `read_cluster`.
    """
    try:
        return check_cluster(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{name}: {error}") from error
    except Misplaced as error:
        line = line_of(text, error.path)
        where = name if line is None else f"{name}:{line}"
        raise UserError(f"{where}: {error}") from error
