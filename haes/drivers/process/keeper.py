"""The keeper of a node: owns the services as their parent, and kills them when it is not fed in time.

It is a process of its own, so that self-fencing does not depend on an agent that is able to run, and so that services
outlive an agent that is replaced. It knows neither cluster nor log: it has a socket, on which the agent feeds it and
asks it to start and stop, and a deadline. Standard library only: it starts quickly and stays small.
"""

import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from haes.clock import boottime
from haes.drivers.process import containment
from haes.drivers.process.containment import MARKER, Fence
from haes.drivers.process.output import Output

SOCKET = "keeper.sock"
STATE = "keeper.state"
LOCK = "keeper.lock"
RECORD = "services.log"
# Bytes of one request: a command line with its environment.
REQUEST_LIMIT = 1 << 20
# Seconds for a client to send a whole request and to take its answer: both are local and small.
CLIENT_LIMIT = 2.0
# Seconds between two pings of a hardware watchdog; these expect one every 10 s or more.
PING_INTERVAL = 1.0
# Bytes of the record after which it begins anew, the old one beside it.
RECORD_LIMIT = 4 << 20
# Ends that are kept until an agent has put them on record; of more than a node can lose in an hour the oldest go.
ENDS_KEPT = 100

# Seconds without a service and without a request after which a keeper ends by itself: an agent that is there asks for
# something in every round, and one that comes later starts a new keeper, which knows what this one knew.
IDLE_LIMIT = 60.0
# What tells a hardware watchdog, as the kernel's drivers have it, that it is closed on purpose.
_CLOSED_ON_PURPOSE = b"V"

# A keeper ends when nothing runs and somebody says so, or nobody needs it; whoever wants more has SIGKILL.
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
_HANDLED = (*_IGNORED, signal.SIGTERM)
_SET_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
_library = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """A request that is not carried out; the message says why."""


class NotEntitled(Refused):
    """Whoever asks may not act, or not any more; the request may be as good as it likes."""


@dataclass(slots=True)
class Service:
    """One service that was started.

    Attributes:
        fence: what surrounds its processes.
        pid: of its first process.
        started: when, by `CLOCK_BOOTTIME`.
        keep: it goes on when the keeper is not fed.
        run: names this run of the service among all of its runs.
        output: what it prints; None before it runs.
        kill_at: when what is left of it is killed, by `CLOCK_BOOTTIME`; None while it is not being stopped.
    """

    fence: Fence
    pid: int
    started: float
    keep: bool
    run: str
    output: Output | None = None
    kill_at: float | None = None


class Keeper:
    """The keeper of one node, in the current directory."""

    def __init__(self, node: str, hardware_watchdog: str | None = None, idle_limit: float = IDLE_LIMIT) -> None:
        self._node = node
        self._idle_limit = idle_limit
        # When there was last something to do, by `CLOCK_BOOTTIME`, and whether a signal told it to end.
        self._busy_at = boottime()
        self._told_to_end = False
        self._hardware = None if hardware_watchdog is None else os.open(hardware_watchdog, os.O_WRONLY | os.O_CLOEXEC)
        self._services: dict[str, Service] = {}
        # None: no deadline. Until somebody feeds or disarms the keeper, nothing may be started.
        self._deadline: float | None = None
        self._blocked = True
        self._token: list[Any] = [0, 0, ""]
        self._fired: list[str] | None = None
        # Services that ended without being asked to, until somebody has put that on record.
        self._ends: list[dict[str, Any]] = []
        self._selector = selectors.DefaultSelector()
        # Services whose output is not read for a while: they print too much.
        self._resting: dict[str, float] = {}
        self._boot = _boot_id()

    def recover(self) -> None:
        """Kills what a predecessor left behind, and remembers what it knew."""
        try:
            data = json.loads(Path(STATE).read_text())
        except (OSError, ValueError):
            data = {}
        self._token = data.get("token", self._token)
        self._fired = data.get("fired")
        self._ends = data.get("ends", [])
        left = {name: Fence(**fence) for name, fence in data.get("services", {}).items()}
        # After a restart of the machine the same ids belong to others.
        if left and data.get("boot") == self._boot:
            containment.kill_all(list(left.values()))
            self._fired = sorted({*(self._fired or ()), *left})
            for name in left:
                self._note("killed", name, because="the keeper before was gone")
        self._save()

    def serve(self, listener: socket.socket, alarm: int) -> None:
        """Works until it is told to end, or nobody needs it any more."""
        with self._selector as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(alarm, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(self._pause()):
                    if key.fileobj is listener:
                        if not self._answer_one(listener):
                            return
                    elif key.data is not None:
                        self._take_output(key.data)
                    else:
                        os.read(alarm, 4096)
                self._collect()
                self._check_time()
                if self._may_end():
                    return

    def end_when_idle(self) -> None:
        """Takes the signal to end."""
        self._told_to_end = True

    def close(self) -> None:
        """Lets the hardware watchdog know that its silence from now on is on purpose."""
        if self._hardware is not None:
            os.write(self._hardware, _CLOSED_ON_PURPOSE)
            os.close(self._hardware)

    def _may_end(self) -> bool:
        """Returns whether to end: nothing runs, and a signal said so, or nobody asked for anything for long.

        A hardware watchdog is something to keep: not every one of them can be closed without a reset of the machine.
        """
        if self._services:
            if self._told_to_end:
                self._note("stays", ", ".join(sorted(self._services)), because="services run")
            self._told_to_end = False
            return False
        return self._told_to_end or (self._hardware is None and boottime() - self._busy_at >= self._idle_limit)

    def _take_output(self, name: str) -> None:
        """Reads a little of what a service prints; one that prints too much has to wait."""
        service = self._services.get(name)
        if service is None or service.output is None:
            return
        rests = service.output.rests()
        if rests > 0:
            self._resting[name] = boottime() + rests
            self._selector.unregister(service.output.reader)
        elif not service.output.pump():
            self._selector.unregister(service.output.reader)

    def _end_output(self, name: str, service: Service) -> tuple[str, bool]:
        """Closes what a service printed into; returns the last of it, and whether that is all."""
        output, service.output = service.output, None
        self._resting.pop(name, None)
        if output is None:
            return "", True
        with contextlib.suppress(KeyError):
            self._selector.unregister(output.reader)
        tail, whole = output.close()
        return tail.decode(errors="replace"), whole

    def _pause(self) -> float | None:
        moments = [service.kill_at for service in self._services.values() if service.kill_at is not None]
        moments += self._resting.values()
        if self._deadline is not None:
            moments.append(self._deadline)
        if self._hardware is not None:
            moments.append(boottime() + PING_INTERVAL)
        elif not self._services:
            moments.append(self._busy_at + self._idle_limit)
        return max(0.0, min(moments) - boottime()) if moments else None

    def _check_time(self) -> None:
        now = boottime()
        if self._deadline is not None and now >= self._deadline:
            self._fire()
        late = [name for name, item in self._services.items() if item.kill_at is not None and now >= item.kill_at]
        self._kill(late, "it did not stop in time")
        for name in [name for name, until in self._resting.items() if now >= until]:
            del self._resting[name]
            output = self._services[name].output
            if output is not None:
                self._selector.register(output.reader, selectors.EVENT_READ, name)
        if self._hardware is not None:
            os.write(self._hardware, b"\0")

    def _fire(self) -> None:
        """Nobody fed in time: whatever the agent is doing, the services end now."""
        self._deadline, self._blocked = None, True
        doomed = [name for name, service in self._services.items() if not service.keep]
        self._kill(doomed, "the keeper was not fed in time")
        self._fired = sorted({*(self._fired or ()), *doomed})
        self._save()

    def _kill(self, names: list[str], because: str) -> None:
        if not names:
            return
        gone = containment.kill_all([self._services[name].fence for name in names])
        for name in names:
            self._note("killed", name, because=because, gone=gone)
            if gone:
                self._end_output(name, self._services.pop(name))
        self._save()

    def _fail(self, name: str, because: str) -> None:
        """Kills a service that is not well, which counts as a death of its own."""
        service = self._services.get(name)
        if service is None or service.kill_at is not None:
            return
        gone = containment.kill_all([service.fence])
        self._note("failed", name, because=because, gone=gone)
        if gone:
            del self._services[name]
            self._ended(name, service, None, because)
        self._save()

    def _ended(self, name: str, service: Service, status: int | None, because: str | None = None) -> None:
        """Keeps in mind how a service ended that nobody asked to end."""
        tail, whole = self._end_output(name, service)
        end = {
            "resource": name,
            "run": service.run,
            "status": status,
            "because": because,
            "ran": round(boottime() - service.started, 3),
            "tail": tail,
            "whole": whole,
        }
        self._ends = [*self._ends, end][-ENDS_KEPT:]

    def _collect(self) -> None:
        """Learns which services ended by themselves; what they left running ends with them."""
        ended = containment.take_reaped()
        gone = [name for name, service in self._services.items() if service.pid in ended]
        for name in gone:
            service = self._services.pop(name)
            containment.kill_all([service.fence])
            status = os.waitstatus_to_exitcode(ended[service.pid])
            self._note("ended", name, status=status)
            if service.kill_at is None:
                self._ended(name, service, status)
            else:
                self._end_output(name, service)
        if gone:
            self._busy_at = boottime()
            self._save()

    def _answer_one(self, listener: socket.socket) -> bool:
        """Serves one client; returns False when the keeper is to end."""
        client, _ = listener.accept()
        self._busy_at = boottime()
        with client, contextlib.suppress(OSError, TimeoutError):
            client.settimeout(CLIENT_LIMIT)
            request: dict[str, Any] = {}
            try:
                request = json.loads(_read_line(client))
                answer = self._do(request)
            except Refused as refusal:
                answer = {"error": str(refusal), "entitled": not isinstance(refusal, NotEntitled)}
            except (KeyError, TypeError, ValueError) as error:
                answer = {"error": f"the request is not understood ({error!r})"}
            client.sendall(json.dumps(answer).encode() + b"\n")
            return not (request.get("do") == "shutdown" and "error" not in answer)
        return True

    def _do(self, request: dict[str, Any]) -> dict[str, Any]:
        self._collect()
        match request["do"]:
            case "status":
                return self._status()
            case "feed":
                self._check_token(request["token"])
                self._deadline, self._blocked = float(request["deadline"]), False
            case "disarm":
                self._check_token(request["token"])
                self._deadline, self._blocked = None, False
            case "acknowledge":
                self._check_token(request["token"])
                self._fired = None
                self._save()
            case "recorded":
                self._check_token(request["token"])
                self._ends = [end for end in self._ends if end["run"] not in request["runs"]]
                self._save()
            case "fail":
                self._check_token(request["token"])
                self._fail(request["resource"], str(request["because"]))
            case "start":
                self._check_token(request["token"])
                self._start(request)
            case "stop":
                self._check_token(request["token"])
                self._stop(request["resource"], float(request["timeout"]))
            case "kill":
                self._check_token(request["token"])
                self._kill([name for name in request["resources"] if name in self._services], "it was told to")
            case "shutdown":
                if self._services:
                    raise Refused(f"services run: {', '.join(sorted(self._services))}")
            case other:
                raise Refused(f"there is no request '{other}'")
        return {}

    def _check_token(self, token: list[Any]) -> None:
        """Lets nobody act whose right is older than one that was seen before."""
        generation, epoch, nonce = token
        known = self._token
        if [generation, epoch] < known[:2] or ([generation, epoch] == known[:2] and nonce != known[2]):
            raise NotEntitled(
                f"token {generation}/{epoch} ({nonce}) is not good: {known[0]}/{known[1]} ({known[2]}) was here"
            )
        if token != known:
            self._token = [generation, epoch, nonce]
            self._save()

    def _status(self) -> dict[str, Any]:
        return {
            "node": self._node,
            "pid": os.getpid(),
            "services": {
                name: {
                    "pid": service.pid,
                    "started": service.started,
                    "stopping": service.kill_at is not None,
                    "run": service.run,
                }
                for name, service in self._services.items()
            },
            "token": self._token[:2],
            "deadline": self._deadline,
            "blocked": self._blocked,
            "fired": self._fired,
            "ends": self._ends,
        }

    def _start(self, request: dict[str, Any]) -> None:
        name = request["resource"]
        if self._blocked or (self._deadline is not None and boottime() >= self._deadline):
            raise NotEntitled("nothing is started before the keeper is fed")
        if name in self._services:
            return
        run = secrets.token_hex(8)
        marker = f"{self._node}/{name}/{run}"
        cgroup = containment.make_cgroup(f"haes-{marker}")
        # On record before it runs, so that a successor finds it even if this keeper dies right after the fork.
        self._services[name] = service = Service(Fence(0, 0, marker, cgroup), 0, boottime(), bool(request["keep"]), run)
        self._save()
        try:
            service.output = Output(request["output"])
            process = _spawn(request, marker, cgroup, service.output.writer)
        except (OSError, subprocess.SubprocessError) as error:
            containment.kill_all([self._services.pop(name).fence])
            because = f"'{request['command'][0]}' cannot be run ({getattr(error, 'strerror', None) or error})"
            self._ended(name, service, None, because)
            self._save()
            raise Refused(because) from error
        service.output.handed_over()
        self._selector.register(service.output.reader, selectors.EVENT_READ, name)
        fence = Fence(process, containment.look(process)[2], marker, cgroup)
        self._services[name] = replace(self._services[name], fence=fence, pid=process)
        self._save()
        self._note("started", name, pid=process)

    def _stop(self, name: str, timeout: float) -> None:
        service = self._services.get(name)
        if service is None or service.kill_at is not None:
            return
        service.kill_at = boottime() + timeout
        with contextlib.suppress(ProcessLookupError):
            os.kill(service.pid, signal.SIGTERM)

    def _save(self) -> None:
        data = {
            "token": self._token,
            "fired": self._fired,
            "ends": self._ends,
            "pid": os.getpid(),
            "boot": self._boot,
            "services": {name: asdict(service.fence) for name, service in self._services.items()},
        }
        new = Path(STATE + ".new")
        # What services printed last is for nobody else.
        new.touch(mode=0o600)
        new.write_text(json.dumps(data))
        new.replace(STATE)

    def _note(self, what: str, name: str, **details: Any) -> None:
        """Keeps a record of its own, for those who look into a node that was cut off."""
        line = {"at": time.time(), "boottime": boottime(), "what": what, "service": name, **details}
        record = Path(RECORD)
        with contextlib.suppress(OSError):
            if record.exists() and record.stat().st_size > RECORD_LIMIT:
                record.replace(RECORD + ".old")
            # Commands of services are for nobody else.
            record.touch(mode=0o600)
            with record.open("a") as file:
                file.write(json.dumps(line) + "\n")


def _spawn(request: dict[str, Any], marker: str, cgroup: str, output: int) -> int:
    """Starts a service's first process in a session of its own and returns its id."""
    parent = os.getpid()

    def prepare() -> None:
        _library.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        # What the keeper ignores a service must not: ignoring is inherited.
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL)
        containment.enter_cgroup(cgroup)

    environment = {**os.environ, **request["environment"], MARKER: marker}
    process = subprocess.Popen(  # noqa: S603 - running what operators configured is what a keeper is for
        request["command"],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=request["directory"],
        env=environment,
        start_new_session=True,
        preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
    )
    # The keeper collects all its children itself; the object must not warn of one that it never waited for.
    process.returncode = 0
    return process.pid


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _read_line(client: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        part = client.recv(65536)
        if not part:
            raise ValueError("the request ended early")
        data += part
        if len(data) > REQUEST_LIMIT:
            raise ValueError("the request is too long")
    return data


def clean(directory: Path) -> None:
    """Kills the keeper of a directory and everything it owns, as a power failure would; for `haes up` and tests."""
    try:
        data = json.loads((directory / STATE).read_text())
    except (OSError, ValueError):
        return
    lock = os.open(directory / LOCK, os.O_RDWR)
    try:
        while not _locked(lock):
            with contextlib.suppress(ProcessLookupError):
                os.kill(data["pid"], signal.SIGKILL)
            time.sleep(containment.KILL_INTERVAL)
        data = json.loads((directory / STATE).read_text())
        containment.kill_all([Fence(**fence) for fence in data["services"].values()])
    finally:
        os.close(lock)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def main() -> int:
    """Runs the keeper of a directory until it is told to end, or nobody needs it any more."""
    parser = argparse.ArgumentParser(description="Owns the services of a node; started by the node's agent.")
    parser.add_argument("--directory", required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--hardware-watchdog")
    parser.add_argument("--idle-limit", type=float, default=IDLE_LIMIT)
    options = parser.parse_args()
    # Names of sockets are short; relative ones always are.
    os.chdir(options.directory)
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not _locked(lock):
        return 0
    _library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    alarm, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    keeper = Keeper(options.node, options.hardware_watchdog, options.idle_limit)
    signal.signal(signal.SIGTERM, lambda *_: keeper.end_when_idle())
    keeper.recover()
    Path(SOCKET).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        old_mask = os.umask(0o077)
        listener.bind(SOCKET)
        os.umask(old_mask)
        listener.listen(64)
        keeper.serve(listener, alarm)
    keeper.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
