"""Runs a worker of either kind as a process: opens the log, works until told to leave, gives its place back."""

import argparse
import asyncio

from events.errors import HaesError
from events.log.port import EventLog
from haes.cli.worker_options import Wanted, wanted
from haes.live.crashes import Crashes
from haes.live.process import Place, begin_patiently, dump_state, notify, run_until_signal
from haes.live.worker import Worker

# An agent begins anew at once: its services run on only as long as its lease.
MANAGER = "manager"


def serve(options: argparse.Namespace, want: Wanted, place: Place, log: EventLog, worker: Worker, *, part: str) -> None:
    """Runs a worker until a signal asks it to leave.

    Args:
        options: the command line, read again on SIGHUP.
        want: what it says together with the cluster's file.
        place: the process's directory, given back at the end.
        log: the log, not open yet.
        worker: the manager or agent.
        part: which of the two, for the names of files.
    """
    crashes = Crashes(place.directory / f"{part}.crashes", f"the {part} of {options.node}")

    async def work(stop: asyncio.Event) -> None:
        try:
            if part == MANAGER:
                await crashes.wait(stop)
            if await begin_patiently(log, want.configuration, worker.by, stop):
                notify("READY=1")
                await worker.run(stop)
        finally:
            await log.close()

    try:
        run_until_signal(
            work,
            on_reload=lambda: worker.use(wanted(options).configuration.intervals),
            on_dump=lambda: dump_state(place, part, worker.replica.state),
        )
        crashes.clear()
    except HaesError:
        # Of the surroundings, and said in one line as it is.
        raise
    except Exception as error:
        again = crashes.record(error)
        if again is None:
            raise
        raise again from error
    finally:
        place.close()
