"""A node whose services are processes: the driver, on top of the node's keeper."""

import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from events.log.port import Right, Token
from haes.clock import boottime
from haes.drivers.port import Emit, ServiceEnd
from haes.drivers.process.client import KeeperClient, KeeperRefused, RightRefused
from haes.drivers.process.definition import ServiceDefinition
from haes.drivers.process.load import LoadMeter
from haes.drivers.process.said import read_said
from haes.drivers.process.tail import clean, secrets_of
from haes.drivers.process.variables import VariablesUnreadable, known_variables, variables_of

_log = logging.getLogger(__name__)

# Seconds between two looks whether a service that has just started passes its check; its own interval if that is less.
READY_INTERVAL = 1.0
# Checks that run at once, so that one that hangs does not hold up the others.
CHECKS_AT_ONCE = 8
# Seconds between two looks at a service that starts or stops.
LOOK_INTERVAL = 0.05
# Seconds beyond its own timeout that a stop may take: the kernel has to take the processes down.
KILL_MARGIN = 10.0


@dataclass(slots=True)
class _Checked:
    """What is known of the checks of one run.

    Attributes:
        run: the run.
        passed: one of its checks has passed.
        failures: checks in a row that failed since.
        due: when the next one is due, by `time.monotonic`.
    """

    run: str
    passed: bool = False
    failures: int = 0
    due: float = 0.0


Define = Callable[[str], ServiceDefinition | None]


class ProcessNode:
    """See Driver; with what a live node offers besides."""

    kinds = frozenset({"process"})
    balances = False

    def __init__(self, keeper: KeeperClient, directory: Path, define: Define) -> None:
        """Finds or starts the keeper.

        Args:
            keeper: of the node.
            directory: where the outputs of services go.
            define: returns how a service is run, None if nobody configured it.
        """
        self._keeper = keeper
        self._directory = directory
        self._define = define
        self._meter = LoadMeter()
        self._checked: dict[str, _Checked] = {}
        # Services whose start is not waited for any longer: something else was asked of them.
        self._interrupted: set[str] = set()
        keeper.ensure()

    def use(self, token: Token) -> None:
        """Acts under this token from now on."""
        self._keeper.use(token)

    def newest(self) -> Right:
        """Returns the newest right that the keeper has seen."""
        return self._keeper.newest()

    def feed(self, deadline: float) -> None:
        """Feeds the keeper; one that is gone is started anew, and its services with it."""
        self._keeper.act("feed", deadline=deadline)

    def disarm(self) -> None:
        """Lets services run without a deadline."""
        self._keeper.act("disarm")

    def fired(self) -> tuple[str, ...] | None:
        """Returns what the keeper killed by itself since this was last asked; None if nothing of the kind happened."""
        fired = self._keeper.ask("status")["fired"]
        if fired is None:
            return None
        self._keeper.act("acknowledge")
        return tuple(fired)

    def kill(self, resources: Collection[str]) -> None:
        """Kills services at once."""
        self._keeper.act("kill", resources=sorted(resources))

    def ends(self) -> Sequence[ServiceEnd]:
        """Returns the services that ended without being asked to, until `forget_ends`."""
        return [self._end(item) for item in self._keeper.ask("status")["ends"]]

    def forget_ends(self, runs: Collection[str]) -> None:
        """The ends of these runs are on record."""
        self._keeper.act("recorded", runs=sorted(runs))

    def said(self, resource: str, lines: int, after: str) -> tuple[list[str], str]:
        """Returns what a service printed last here, or after a position; and the position after it."""
        definition = self._define(resource)
        if definition is None:
            return [], after
        return read_said(self._output(resource), lines, after, secrets_of(known_variables(definition)))

    def _output(self, resource: str) -> Path:
        return self._directory / f"{resource.replace(':', '-')}.log"

    def _end(self, item: dict[str, Any]) -> ServiceEnd:
        status, definition = item["status"], self._define(item["resource"])
        secrets = [] if definition is None else secrets_of(known_variables(definition))
        return ServiceEnd(
            resource=item["resource"],
            run=item["run"],
            exit_code=status if status is not None and status >= 0 else None,
            signal=_signal_name(-status) if status is not None and status < 0 else None,
            because=item["because"],
            ran=item["ran"],
            lines=tuple(clean(item["tail"].encode(), secrets, whole=item["whole"])),
        )

    def services(self) -> dict[str, bool]:
        """Returns service -> whether it is well, for all that have processes."""
        known = self._known()
        return {name: self._is_well(name) for name in known}

    def loads(self) -> dict[str, tuple[float, int]]:
        """Returns service -> (cores, bytes) in use since this was last asked."""
        return self._meter.measure({name: item["pid"] for name, item in self._known().items()})

    def close(self) -> None:
        """Lets the keeper and its services go on by themselves."""

    def running(self, resource: str) -> bool:
        """See Driver: it has processes; whether it is well is another question."""
        return resource in self._known()

    def start(self, resource: str, _emit: Emit) -> None:
        """See Driver."""
        definition = self._define(resource)
        if definition is None:
            _log.error("%s has no command to run", resource)
            return
        try:
            variables = variables_of(definition)
        except VariablesUnreadable as error:
            _log.error("%s cannot start: %s", resource, error)
            return
        try:
            self._keeper.act(
                "start",
                resource=resource,
                command=list(definition.command),
                environment=variables,
                directory=definition.directory or str(self._directory.absolute()),
                output=str(self._output(resource).absolute()),
                keep=definition.keep,
            )
        except RightRefused:
            # It says nothing about the service.
            raise
        except KeeperRefused as error:
            _log.error("%s", error)
            return
        self._interrupted.discard(resource)
        self._await_ready(resource, definition)

    def tells_ends(self, resource: str) -> bool:
        """See Driver: the keeper does, of everything that it was asked to run."""
        return self._define(resource) is not None

    def interrupt(self, resource: str) -> None:
        """See Driver."""
        self._interrupted.add(resource)

    def _await_ready(self, resource: str, definition: ServiceDefinition) -> None:
        """Waits until a service that has just started is up: its check passes, or it stayed up for a while."""
        begun = time.monotonic()
        if definition.check is None:
            while time.monotonic() - begun < definition.ready_after and self._is_awaited(resource):
                time.sleep(LOOK_INTERVAL)
            return
        due = begun
        while self._is_awaited(resource):
            now = time.monotonic()
            if now >= due:
                if _answers(definition):
                    self._note_ready(resource, definition)
                    return
                due = time.monotonic() + min(READY_INTERVAL, definition.check_interval)
            if time.monotonic() - begun >= definition.check_grace:
                because = f"it did not get ready within {definition.check_grace:g} s"
                self._keeper.act("fail", resource=resource, because=because)
                return
            time.sleep(LOOK_INTERVAL)

    def _note_ready(self, resource: str, definition: ServiceDefinition) -> None:
        item = self._known().get(resource)
        if item is not None:
            due = time.monotonic() + definition.check_interval
            self._checked[resource] = _Checked(item["run"], passed=True, due=due)

    def _is_awaited(self, resource: str) -> bool:
        return resource not in self._interrupted and self.running(resource)

    def stop(self, resource: str, timeout: int | None, _emit: Emit) -> None:
        """See Driver."""
        definition = self._define(resource)
        configured = definition.stop_timeout if definition is not None else 0.0
        seconds = float(configured if timeout is None else timeout)
        self._keeper.act("stop", resource=resource, timeout=seconds)
        until = time.monotonic() + seconds + KILL_MARGIN
        while time.monotonic() < until and self.running(resource):
            time.sleep(LOOK_INTERVAL)

    def move(self, resource: str, target: str, emit: Emit, *, live: bool) -> bool:
        """See Driver: a process cannot move while it runs; it is stopped here and started there."""
        running = self.running(resource)
        if live and running:
            emit("job.live_refused")
        emit("job.moving", verb="relocate", target=target)
        if running:
            emit("job.stopping", relocate=True)
            self.stop(resource, None, emit)
            if self.running(resource):
                emit("job.stop_failed")
                return False
            emit("job.stopped")
        emit("job.moved", verb="relocate", target=target)
        return True

    def preflight(self, _resource: str, _target: str) -> Sequence[str]:
        """See Driver."""
        return ()

    def _known(self) -> dict[str, dict[str, Any]]:
        services: dict[str, dict[str, Any]] = self._keeper.ask("status")["services"]
        return services

    def _is_well(self, resource: str) -> bool:
        """Returns what the last check said; checks run beside the agent's rounds and never hold them up."""
        checked = self._checked.get(resource)
        return checked is None or not checked.failures

    def check(self) -> None:
        """Runs the check commands that are due; takes as long as they take.

        A service that fails its check so many times in a row is killed, so that the usual ways of a service that ended
        apply: it is started again here, then elsewhere.
        """
        known, now = self._known(), time.monotonic()
        due: list[tuple[str, ServiceDefinition]] = []
        for resource, item in known.items():
            definition = self._define(resource)
            if definition is None or definition.check is None:
                continue
            checked = self._checked.get(resource)
            if checked is None or checked.run != item["run"]:
                checked = self._checked[resource] = _Checked(item["run"])
            if now >= checked.due:
                due.append((resource, definition))
        for resource in list(self._checked):
            if resource not in known:
                self._checked.pop(resource, None)
        if not due:
            return
        with ThreadPoolExecutor(min(len(due), CHECKS_AT_ONCE), thread_name_prefix="checks") as pool:
            answers = list(pool.map(_answers, [definition for _, definition in due]))
        for (resource, definition), well in zip(due, answers, strict=True):
            self._take_answer(resource, definition, known[resource]["started"], well=well)

    def _take_answer(self, resource: str, definition: ServiceDefinition, started: float, *, well: bool) -> None:
        checked = self._checked.get(resource)
        if checked is None:
            return
        checked.due = time.monotonic() + definition.check_interval
        checked.passed |= well
        if not checked.passed and boottime() - started < definition.check_grace:
            # It is on its way up, and whoever started it waits for it.
            return
        checked.failures = 0 if well else checked.failures + 1
        if checked.failures >= definition.check_failures:
            times = f"{checked.failures} times in a row" if checked.failures > 1 else "once"
            _log.warning("%s failed its check %s and is killed", resource, times)
            self._keeper.act("fail", resource=resource, because=f"its check failed {times}")
            self._checked.pop(resource, None)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _answers(definition: ServiceDefinition) -> bool:
    if definition.check is None:
        return True
    try:
        done = subprocess.run(  # noqa: S603 - running what operators configured is what a driver is for
            definition.check,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **known_variables(definition)},
            timeout=definition.check_timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
