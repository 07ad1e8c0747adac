"""A node whose services are processes: the driver, on top of the node's keeper."""

import logging
import os
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from events.log.port import Right, Token
from haes.drivers.port import Emit
from haes.drivers.process.client import KeeperClient, KeeperRefused, RightRefused
from haes.drivers.process.definition import ServiceDefinition
from haes.drivers.process.load import LoadMeter

_log = logging.getLogger(__name__)

# Seconds for which a service must stay up after its start to count as started: a wrong option or a port that is taken
# ends most programs sooner.
SETTLE = 0.5
# Seconds between two looks at a service that starts or stops.
LOOK_INTERVAL = 0.05
# Seconds beyond its own timeout that a stop may take: the kernel has to take the processes down.
KILL_MARGIN = 10.0

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
        self._checks: dict[str, bool] = {}
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
            self._keeper.act(
                "start",
                resource=resource,
                command=list(definition.command),
                environment=dict(definition.environment),
                directory=definition.directory or str(self._directory.absolute()),
                output=str((self._directory / f"{resource.replace(':', '-')}.log").absolute()),
                keep=definition.keep,
            )
        except RightRefused:
            # It says nothing about the service.
            raise
        except KeeperRefused as error:
            _log.error("%s", error)
            return
        self._checks.pop(resource, None)
        until = time.monotonic() + SETTLE
        while time.monotonic() < until and self.running(resource):
            time.sleep(LOOK_INTERVAL)

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
        definition = self._define(resource)
        return definition is None or definition.check is None or self._checks.get(resource, True)

    def check(self) -> None:
        """Runs the check commands of all services, one after the other; takes as long as they take.

        A service that fails its check is killed, so that the usual ways of a service that ended apply: it is started
        again here, then elsewhere.
        """
        for resource in self._known():
            definition = self._define(resource)
            if definition is None or definition.check is None:
                continue
            well = _answers(definition)
            failed_before = not self._checks.get(resource, True)
            self._checks[resource] = well
            if not well and failed_before:
                _log.warning("%s failed its check twice and is killed", resource)
                self.kill([resource])
                self._checks.pop(resource, None)


def _answers(definition: ServiceDefinition) -> bool:
    if definition.check is None:
        return True
    try:
        done = subprocess.run(  # noqa: S603 - running what operators configured is what a driver is for
            definition.check,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **definition.environment},
            timeout=definition.check_timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
