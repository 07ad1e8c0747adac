"""`haes up`: a whole cluster in one terminal, on a private Redis if no other log is named."""

import argparse
import asyncio
import os
import signal
import stat
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from events.embedded import EmbeddedLog
from events.errors import HaesError
from events.log.port import EventLog
from events.url import open_log
from haes.cli.show import LEVEL_STYLES, make_console
from haes.cli.status import picture, time_of
from haes.cli.terminal import one_line
from haes.cli.worker_options import Wanted, add_place_options, wanted
from haes.journal import journal_lines
from haes.live.follow import follow
from haes.live.process import configure_logs
from haes.live.seed import seed
from haes.live.status import read_status
from haes.live.up import Cluster, members_of

# Managers that run unless the user says otherwise: a leader and two that stand by.
MANAGERS = 3
HELP = "type: status, pull NODE (as if its power failed), plug NODE, quit"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = subparsers.add_parser("up")
    parser.add_argument("config", metavar="FILE", type=Path, help="the cluster's file (cluster.toml)")
    parser.add_argument("--managers", type=int, default=MANAGERS, metavar="NUMBER", help="how many managers run")
    add_place_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit status."""
    configure_logs(options.log_format, verbose=options.verbose)
    directory = options.directory or Path(wanted(options, "embedded:").configuration.directory)
    want = wanted(options, f"embedded:{directory / 'log'}")
    asyncio.run(_up(want, options.config, options.managers))
    return 0


async def _up(want: Wanted, config: Path, managers: int) -> None:
    console = make_console()
    log = open_log(want.log, want.cluster)
    await log.open()
    url = log.server.url if isinstance(log, EmbeddedLog) else want.log
    try:
        await seed(log, want.configuration, "up")
        options = ["--log", url, "--cluster", want.cluster, "--directory", str(want.directory)]
        cluster = Cluster(config, options, want.directory, members_of(want.configuration.nodes, managers))
        console.print(Text(f"cluster '{want.cluster}' on {url}", style="bold"))
        console.print(Text(HELP, style="bold"))
        console.print("in another terminal, paste this first, then haes status:")
        console.print(f"export HAES_LOG={url} HAES_CLUSTER={want.cluster}")
        cluster.start()
        try:
            await _serve(console, log, cluster)
        finally:
            console.print("stopping everything")
            await cluster.stop()
    finally:
        await log.close()


async def _serve(console: Console, log: EventLog, cluster: Cluster) -> None:
    """Shows the journal and does what is typed, until it is told to end."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    tasks = [
        asyncio.create_task(_show_journal(console, log), name="journal"),
        asyncio.create_task(_read_commands(console, log, cluster, stop), name="commands"),
        asyncio.create_task(stop.wait(), name="stop"),
    ]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            raise result


async def _show_journal(console: Console, log: EventLog) -> None:
    async for event in follow(log, (await log.head()).n):
        for line in journal_lines(event):
            style = LEVEL_STYLES.get(line.level.strip(), "")
            text = f"{time_of(line.at)} {line.level:<7} {line.by:>12}: {line.text}"
            console.print(Text(one_line(text), style=style))


async def _read_commands(console: Console, log: EventLog, cluster: Cluster, stop: asyncio.Event) -> None:
    """Does what is typed; without a terminal or a pipe it waits for the end."""
    reader = asyncio.StreamReader()
    mode = os.fstat(sys.stdin.fileno()).st_mode
    # Of other things, a file or /dev/null, nobody can be told when there is more.
    if sys.stdin.isatty() or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        protocol = asyncio.StreamReaderProtocol(reader)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(os.dup(sys.stdin.fileno())))
        while line := await reader.readline():
            await _do(console, log, cluster, stop, line.decode(errors="replace").split())
    await stop.wait()


async def _do(console: Console, log: EventLog, cluster: Cluster, stop: asyncio.Event, words: list[str]) -> None:
    match words:
        case []:
            return
        case ["quit" | "exit"]:
            stop.set()
        case ["pull", node] if node in cluster.nodes:
            console.print(f"pulled the plug of {node}")
            await cluster.pull(node)
        case ["plug", node] if node in cluster.nodes:
            cluster.plug(node)
        case ["status"]:
            try:
                console.print(picture(*await read_status(log), colour=console.is_terminal))
            except HaesError as error:
                console.print(str(error))
        case _:
            console.print(f"{HELP}; nodes: {', '.join(cluster.nodes)}")
