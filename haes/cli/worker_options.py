"""Options that the processes of a cluster share, and what follows from them; knows no process."""

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path

from events.errors import UserError
from haes.configuration.cluster import ClusterConfiguration
from haes.configuration.file import read_cluster
from haes.live.process import LOG_FORMATS


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a process is to do: the cluster's configuration, with what the command line says put in."""

    configuration: ClusterConfiguration
    log: str
    cluster: str
    directory: Path


def add_worker_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("node", metavar="NAME", help="the node that the process belongs to")
    parser.add_argument("--config", metavar="FILE", type=Path, required=True, help="the cluster's file (cluster.toml)")
    add_place_options(parser)


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Adds what overrides the cluster's file."""
    parser.add_argument("--log", metavar="URL", default=os.environ.get("HAES_LOG"), help="the event log")
    parser.add_argument("--cluster", metavar="NAME", default=os.environ.get("HAES_CLUSTER"), help="the cluster's name")
    parser.add_argument("--directory", metavar="DIR", type=Path, help="where the process keeps what is its own")
    parser.add_argument("--log-format", choices=LOG_FORMATS, default="text", help="how it says what it does on stderr")
    parser.add_argument("--verbose", action="store_true", help="say more")


def wanted(options: argparse.Namespace, default_log: str | None = None) -> Wanted:
    """Returns what the command line and the file say together.

    Raises:
        UserError: the file is not as it must be, or no log is named.
    """
    configuration = read_cluster(options.config)
    log = options.log or configuration.log or default_log
    if log is None:
        raise UserError(f"{options.config}: no log is named; set 'log' in [cluster], --log or $HAES_LOG")
    directory = options.directory or Path(configuration.directory)
    cluster = options.cluster or configuration.name
    return Wanted(replace(configuration, name=cluster, log=log), log, cluster, directory)
