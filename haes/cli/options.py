"""Options that several commands share, and what they say about a log alike."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from events.embedded import EmbeddedLog
from events.errors import UserError
from events.url import connect, open_log
from haes.cli.terminal import warn

if TYPE_CHECKING:
    from haes.state.cluster import ClusterState

DEFAULT_CLUSTER = "main"


def require_log(options: argparse.Namespace) -> None:
    """Refuses a log that cannot have been written to; for commands that work on what is there and create nothing.

    Raises:
        UserError: no log is named, or the folder of an embedded one holds no data.
    """
    if options.log is None:
        raise UserError("--log URL is missing (or set $HAES_LOG)")
    log = open_log(options.log, options.cluster)
    # Opening an embedded log makes its folder; after a slip of the pen a reader must not leave one behind.
    if isinstance(log, EmbeddedLog) and not any(log.server.folder.glob("appendonly*")):
        raise UserError(f"{options.log}: there is no log in this folder")


def no_events(cluster: str) -> UserError:
    """Returns the error for a log that knows nothing of a cluster."""
    return UserError(f"cluster '{cluster}' has no events in this log (--cluster NAME)")


def warn_of_parked(state: "ClusterState") -> None:
    """Says on standard error what an answer leaves out because it could not be understood, if anything."""
    for subject, item in sorted(state.parked.items()):
        warn(f"warning: {subject} is as before event {item.n}, which could not be applied ({item.reason})")


async def free_cluster(url: str, name: str) -> str:
    """Returns a name that has no events in a log: the given one, or the first of `NAME.2`, `NAME.3` and so on."""
    candidate, attempt = name, 1
    while True:
        async with connect(url, candidate) as log:
            if not (await log.head()).n:
                return candidate
        attempt += 1
        candidate = f"{name}.{attempt}"


def add_archive_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--archive`, for commands about the past."""
    parser.add_argument(
        "--archive", type=Path, metavar="FOLDER", help="read from its segments what the stream does not have any more"
    )


def add_log_options(parser: argparse.ArgumentParser, *, default: str | None) -> None:
    """Adds `--log` and `--cluster`, which `$HAES_LOG` and `$HAES_CLUSTER` can set, too."""
    parser.add_argument(
        "--log",
        metavar="URL",
        default=os.environ.get("HAES_LOG", default),
        help="the event log: memory:, embedded:PATH, redis://..., rediss://... or unix://... (default: $HAES_LOG"
        + (f", else {default})" if default else ")"),
    )
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        default=os.environ.get("HAES_CLUSTER", DEFAULT_CLUSTER),
        help=f"the cluster's name in the log (default: $HAES_CLUSTER, else {DEFAULT_CLUSTER})",
    )
