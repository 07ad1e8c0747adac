"""Hosts, their keepers, and the services there: a model that holds the real keeper's contract, on virtual time.

`SimulatedNode` is what an agent gets as its node; `Keeper` is the process that outlives the agent. What truly runs where
is known to `Truth` alone, and nobody in the cluster can ask it.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from events.log.port import Right, Token
from haes.drivers.port import Emit, ServiceEnd
from haes.drivers.process.client import ANSWER_LIMIT, KeeperAway, RightRefused
from haes.telemetry import Sample
from tests.cluster_simulator.loop import SimulatedLoop

# Seconds for which a service must stay up after its start to count as started, as with real processes.
SETTLE = 0.5
# Seconds of a stop or a motion at most, where nothing is slow.
USUAL = 2.0
# Seconds that a service may take to stop unless somebody says otherwise.
STOP_TIMEOUT = 10.0
# Seconds beyond its timeout that a stop is waited for.
KILL_MARGIN = 10.0
CPUS, MEMORY = 4.0, 8 * 1024**3


class Truth:
    """Which service runs on which hosts right now.

    Attributes:
        runs: service -> hosts.
        violations: moments at which a service ran twice.
    """

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.runs: dict[str, list[str]] = {}
        self.violations: list[str] = []
        self.changes: list[tuple[float, str, str, str]] = []

    def begins(self, service: str, host: str) -> None:
        """A service runs somewhere from now on."""
        hosts = self.runs.setdefault(service, [])
        hosts.append(host)
        self.changes.append((self._loop.time(), "runs", service, host))
        if len(hosts) > 1:
            self.violations.append(f"{service} runs on {' and '.join(hosts)}")

    def ends(self, service: str, host: str) -> None:
        """It does not any more."""
        self.runs[service].remove(host)
        self.changes.append((self._loop.time(), "ended", service, host))


@dataclass
class Host:
    """A machine.

    Attributes:
        name: of its node.
        powered: it has power.
        boot: how often it was started.
        offset: seconds that its clock was ahead at the beginning.
        rate: how fast its clock runs.
        disk: what survives the loss of power.
        keeper: the process, None while there is none.
        fail_starts: share of starts that fail.
        fail_moves: share of motions that fail.
        slow: seconds that jobs take at most beyond the usual.
        stubborn: share of services that ignore being asked to stop.
        deaf: share of requests to the keeper that get no answer.
        on_ring: called with the node and what was killed when the keeper was not fed in time.
    """

    name: str
    loop: SimulatedLoop
    truth: Truth
    offset: float = 0.0
    rate: float = 1.0
    powered: bool = True
    boot: int = 1
    disk: dict[str, Any] = field(default_factory=dict)
    keeper: "Keeper | None" = None
    fail_starts: float = 0.0
    fail_moves: float = 0.0
    slow: float = 0.0
    stubborn: float = 0.0
    deaf: float = 0.0
    on_ring: Callable[[str, list[str]], None] = lambda _node, _doomed: None

    def boottime(self) -> float:
        """Returns what the host's clock says."""
        return self.offset + self.loop.time() * self.rate

    def at(self, boottime: float) -> float:
        """Returns the virtual time at which the host's clock says so."""
        return (boottime - self.offset) / self.rate

    def power_off(self) -> None:
        """Everything on the host ends at once; its processes are ended by whoever started them."""
        self.powered = False
        if self.keeper is not None:
            self.keeper.vanish()

    def power_on(self) -> None:
        """It boots: nothing runs, its clock begins anew."""
        self.powered = True
        self.boot += 1
        self.offset = -self.loop.time() * self.rate + 10.0


@dataclass
class _Service:
    run: str
    started: float
    kill_at: float | None = None


class Keeper:
    """See `haes/drivers/process/keeper.py`, whose contract this is.

    Attributes:
        services: those that run.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = host.loop
        self.services: dict[str, _Service] = {}
        self._deadline: float | None = None
        self._blocked = True
        self._alarm = 0.0
        known = host.disk.get("keeper", {"token": [0, 0, ""], "fired": None, "services": [], "boot": host.boot})
        self._token: list[Any] = known["token"]
        self.fired: list[str] | None = known["fired"]
        self._ends: list[ServiceEnd] = known.get("ends", [])
        self._runs = known.get("runs", 0)
        if known["services"] and known["boot"] == host.boot:
            # They died with the keeper before.
            self.fired = sorted({*(self.fired or ()), *known["services"]})
        self._save()

    def vanish(self) -> None:
        """Ends together with everything it owns: it crashed, or the host lost power."""
        for name in list(self.services):
            self._host.truth.ends(name, self._host.name)
        self.services.clear()
        self._host.keeper = None

    def crash_service(self, name: str) -> None:
        """A service ends by itself."""
        service = self.services.get(name)
        if service is not None:
            ran = self._host.boottime() - service.started
            self._ends.append(ServiceEnd(name, service.run, 1, None, None, ran))
            self._end(name)

    def do(self, what: str, token: Token | None, **values: Any) -> Any:
        """Serves a request."""
        if what == "status":
            return self.fired, tuple(self.services), (self._token[0], self._token[1])
        if what == "ends":
            return tuple(self._ends)
        if token is None:
            raise RightRefused("the agent has no right to act yet")
        self._check(token)
        match what:
            case "feed":
                self._deadline, self._blocked = values["deadline"], False
                self._set_alarm()
            case "disarm":
                self._deadline, self._blocked = None, False
            case "acknowledge":
                self.fired = None
                self._save()
            case "recorded":
                self._ends = [end for end in self._ends if end.run not in values["runs"]]
                self._save()
            case "start":
                self._start(values["resource"])
            case "stop":
                self._stop(values["resource"], values["timeout"])
            case "kill":
                for name in values["resources"]:
                    if name in self.services:
                        self._end(name)
        return None

    def _check(self, token: Token) -> None:
        known, given = self._token, [token.generation, token.epoch]
        if given < known[:2] or (given == known[:2] and token.nonce != known[2]):
            raise RightRefused(f"token {token.generation}/{token.epoch} is not good: {known[0]}/{known[1]} was here")
        if given != known[:2]:
            self._token = [*given, token.nonce]
            self._save()

    def _start(self, name: str) -> None:
        if self._blocked or (self._deadline is not None and self._host.boottime() >= self._deadline):
            raise RightRefused("nothing is started before the keeper is fed")
        if name not in self.services:
            self._runs += 1
            self.services[name] = _Service(f"{self._host.name}/{self._runs}", self._host.boottime())
            self._host.truth.begins(name, self._host.name)
            self._save()

    def _stop(self, name: str, timeout: float) -> None:
        service = self.services.get(name)
        if service is None or service.kill_at is not None:
            return
        service.kill_at = self._host.boottime() + timeout
        chance = self._loop.chance.random
        takes = timeout if chance() < self._host.stubborn else min(timeout, chance() * USUAL)
        self._loop.call_later(takes, self._stopped, name, service, context=self._loop.world.context)

    def _stopped(self, name: str, service: _Service) -> None:
        if self.services.get(name) is service:
            self._end(name)

    def _end(self, name: str) -> None:
        del self.services[name]
        self._host.truth.ends(name, self._host.name)
        self._save()

    def _set_alarm(self) -> None:
        """One timer is on its way at a time; when it comes early it is set anew."""
        assert self._deadline is not None
        if not self._alarm:
            self._alarm = self._host.at(self._deadline)
            self._loop.call_at(self._alarm, self._ring, self._host.boot, context=self._loop.world.context)

    def _ring(self, boot: int) -> None:
        self._alarm = 0.0
        if self._host.keeper is not self or self._host.boot != boot or self._deadline is None:
            return
        if self._host.boottime() < self._deadline:
            self._set_alarm()
            return
        self._deadline, self._blocked = None, True
        doomed = list(self.services)
        for name in doomed:
            self._end(name)
        self.fired = sorted({*(self.fired or ()), *doomed})
        self._save()
        self._host.on_ring(self._host.name, doomed)

    def _save(self) -> None:
        self._host.disk["keeper"] = {
            "token": list(self._token),
            "fired": self.fired,
            "services": list(self.services),
            "ends": list(self._ends),
            "runs": self._runs,
            "boot": self._host.boot,
        }


class SimulatedNode:
    """See LiveNode and Driver: one object is both."""

    kinds = frozenset({"vm", "process"})
    balances = False

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = host.loop
        self._token: Token | None = None
        self._boot = host.boot

    @property
    def driver(self) -> "SimulatedNode":
        """See LiveNode."""
        return self

    def use(self, token: Token) -> None:
        """See LiveNode."""
        self._token = token

    def newest(self) -> Right:
        """See LiveNode."""
        _, _, newest = self._ask("status")
        return newest

    def feed(self, deadline: float) -> None:
        """See LiveNode."""
        self._ask("feed", deadline=deadline)

    def disarm(self) -> None:
        """See LiveNode."""
        self._ask("disarm")

    def fired(self) -> tuple[str, ...] | None:
        """See LiveNode."""
        fired, _, _ = self._ask("status")
        if fired is None:
            return None
        self._ask("acknowledge")
        return tuple(fired)

    def kill(self, resources: Collection[str]) -> None:
        """See LiveNode."""
        self._ask("kill", resources=sorted(resources))

    def services(self) -> dict[str, bool]:
        """See LiveNode."""
        _, services, _ = self._ask("status")
        return dict.fromkeys(services, True)

    def ends(self) -> Sequence[ServiceEnd]:
        """See LiveNode."""
        ends: Sequence[ServiceEnd] = self._ask("ends")
        return ends

    def forget_ends(self, runs: Collection[str]) -> None:
        """See LiveNode."""
        self._ask("recorded", runs=sorted(runs))

    def said(self, _resource: str, _lines: int, after: str) -> tuple[list[str], str]:
        """See LiveNode."""
        return [], after

    def check(self) -> None:
        """See LiveNode."""

    def measure(self) -> Sample:
        """See LiveNode."""
        now = self._loop.time()
        loads = {name: (0.2 + 0.1 * ((len(name) * 7 + now // 600) % 5), MEMORY // 16) for name in self.services()}
        cpu, memory = sum(used for used, _ in loads.values()), sum(size for _, size in loads.values())
        return Sample(self._host.name, CPUS, MEMORY, cpu, memory, loads)

    def close(self) -> None:
        """See LiveNode."""

    def running(self, resource: str) -> bool:
        """See Driver."""
        return resource in self.services()

    def start(self, resource: str, _emit: Emit) -> None:
        """See Driver."""
        self._take_time(0.05)
        self._ask("start", resource=resource)
        if self._chance() < self._host.fail_starts and self._host.keeper is not None:
            self._host.keeper.crash_service(resource)
        self._loop.block(SETTLE)

    def tells_ends(self, _resource: str) -> bool:
        """See Driver."""
        return True

    def interrupt(self, resource: str) -> None:
        """See Driver: no start takes long here."""

    def stop(self, resource: str, timeout: int | None, _emit: Emit) -> None:
        """See Driver."""
        seconds = STOP_TIMEOUT if timeout is None else float(timeout)
        self._ask("stop", resource=resource, timeout=seconds)
        until = self._loop.time() + seconds + KILL_MARGIN
        while self._loop.time() < until and self.running(resource):
            self._loop.block(0.25)

    def move(self, resource: str, target: str, emit: Emit, *, live: bool) -> bool:
        """See Driver: whatever moves stops here and starts there."""
        verb = "migrate" if live else "relocate"
        emit("job.moving", verb=verb, target=target)
        self._take_time(USUAL)
        if self._chance() < self._host.fail_moves:
            return False
        if self.running(resource):
            emit("job.stopping", relocate=True)
            self.stop(resource, None, emit)
            if self.running(resource):
                emit("job.stop_failed")
                return False
            emit("job.stopped")
        emit("job.moved", verb=verb, target=target)
        return True

    def preflight(self, _resource: str, _target: str) -> Sequence[str]:
        """See Driver."""
        return ()

    def _ask(self, what: str, **values: Any) -> Any:
        """Asks the keeper; one that is gone is started anew, and what it ran is gone, too."""
        host = self._host
        if host.deaf and self._chance() < host.deaf:
            self._loop.block(ANSWER_LIMIT)
            raise KeeperAway("the keeper does not answer")
        if host.keeper is None:
            self._loop.block(0.3)
        if not host.powered or host.boot != self._boot:
            raise KeeperAway("the keeper does not answer")
        if host.keeper is None:
            host.keeper = Keeper(host)
        return host.keeper.do(what, self._token, **values)

    def _take_time(self, seconds: float) -> None:
        self._loop.block(self._chance() * (seconds + self._host.slow))

    def _chance(self) -> float:
        return self._loop.chance.random()
