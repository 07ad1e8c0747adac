"""Options that several commands share."""

import argparse
import os

from events.url import connect

DEFAULT_CLUSTER = "main"


async def free_cluster(url: str, name: str) -> str:
    """Returns a name that has no events in a log: the given one, or the first of `NAME.2`, `NAME.3` and so on."""
    candidate, attempt = name, 1
    while True:
        async with connect(url, candidate) as log:
            if not (await log.head()).n:
                return candidate
        attempt += 1
        candidate = f"{name}.{attempt}"


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
