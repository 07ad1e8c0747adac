"""What makes a worker a good process: signals, logs, a place of its own, word to the service manager."""

import asyncio
import fcntl
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from events.errors import LogUnavailable, UserError
from events.log.port import EventLog
from events.private import close_to_others, write_private
from haes.configuration.cluster import ClusterConfiguration
from haes.live.outage import RETRY_INTERVAL, Outage, Stopped, pause_unless, unless_stopped
from haes.live.seed import seed
from haes.state.cluster import ClusterState

_log = logging.getLogger(__name__)

LOG_FORMATS = ("text", "json")


class JsonLines(logging.Formatter):
    """Log records as JSON, one object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line."""
        data = {
            "at": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            data["exception"] = self.formatException(record.exc_info)
        return json.dumps(data)


def configure_logs(format_: str, *, verbose: bool) -> None:
    """Sends what the process says of itself to stderr; what the cluster did is on the stream, not here."""
    handler = logging.StreamHandler(sys.stderr)
    if format_ == "json":
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
    # It says something at level INFO for every transition.
    logging.getLogger("transitions").setLevel(logging.WARNING)


def owner_name(node: str, part: str, directory: Path) -> str:
    """Returns how a process names itself as the owner of a lease: the same for its successor in the same place."""
    return f"{node}/{part}@{socket.gethostname()}:{directory.absolute()}"


# What the processes of a node leave in its directory: what they believe, what services print and how they are run.
_OURS = ("*.lock", "*.log", "*.log.old", "*.old", "*.state", "*.seen", "*.crashes", "*.new", "keeper*")


class Place:
    """The directory of one process, which belongs to it alone while it lives."""

    def __init__(self, directory: Path, part: str) -> None:
        """Takes the place.

        Raises:
            UserError: another process has it, or the directory cannot be used.
        """
        self.directory = directory
        file = directory / f"{part}.lock"
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            close_to_others(directory, _OURS)
            self._lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UserError(f"{directory}: the directory cannot be used ({error.strerror})") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise UserError(f"{file}: another {part} runs here already; one is enough for a node") from error

    def close(self) -> None:
        """Gives the place back."""
        os.close(self._lock)


def dump_state(place: Place, part: str, state: ClusterState) -> None:
    """Writes the state that a process believes in into its directory, to be compared with what the log says."""
    file = place.directory / f"{part}.state"
    new = file.with_suffix(".new")
    write_private(new, json.dumps(state.to_data(), sort_keys=True))
    new.replace(file)
    _log.info("wrote the state up to event %d to %s", state.n, file)


def notify(state: str) -> None:
    """Tells the service manager how the process is (`READY=1`, `STOPPING=1`), if there is one that listens."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        sender.sendto(state.encode(), "\0" + address[1:] if address.startswith("@") else address)


async def begin_patiently(log: EventLog, configuration: ClusterConfiguration, by: str, stop: asyncio.Event) -> bool:
    """Opens a log as soon as its server is there, and seeds it if need be; returns False when told to stop before.

    Raises:
        UserError: what is there is not fit for a log; waiting would not help.
    """
    outage, is_open = Outage(), False
    while not stop.is_set():
        try:
            if not is_open:
                await unless_stopped(stop, log.open())
                is_open = True
            await unless_stopped(stop, seed(log, configuration, by))
        except Stopped:
            break
        except LogUnavailable as error:
            outage.begin(error)
            await pause_unless(stop, RETRY_INTERVAL)
        else:
            outage.end()
            return True
    return False


def run_until_signal(
    work: Callable[[asyncio.Event], Coroutine[Any, Any, None]],
    on_reload: Callable[[], None],
    on_dump: Callable[[], None],
) -> None:
    """Runs a worker until it ends or SIGTERM or Ctrl-C asks it to.

    Args:
        work: the worker; it leaves soon after its event is set.
        on_reload: called on SIGHUP, to read the configuration again; a `UserError` is said and changes nothing.
        on_dump: called on SIGUSR1, to write down what the process believes.
    """

    async def main() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def leave() -> None:
            notify("STOPPING=1")
            stop.set()

        def reload() -> None:
            try:
                on_reload()
            except UserError as error:
                _log.error("the configuration stays as it was: %s", error)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, leave)
        loop.add_signal_handler(signal.SIGHUP, reload)
        loop.add_signal_handler(signal.SIGUSR1, on_dump)
        await _whole(work(stop))

    asyncio.run(main())


async def _whole(work: Awaitable[None]) -> None:
    """Lets a single error out of the group of tasks that it ended, as what it is."""
    try:
        await work
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from group
