"""How every process of a service is found and killed, whatever it forked: by control group, session and marker.

A control group holds all that a service starts, where the system lets us make one. Without it a session holds what did
not leave it, and a marker in the environment finds what did. Standard library only: the keeper imports this.
"""

import contextlib
import os
import re
import signal
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MARKER = "HAES_SERVICE"
# Seconds after which what cannot be killed (it hangs in the kernel) is given up on.
KILL_LIMIT = 5.0
# Seconds between two looks for what is left.
KILL_INTERVAL = 0.01

_CGROUP_ROOT = Path("/sys/fs/cgroup")
# Old hierarchies in which a group may be made without any setting being needed.
_OLD_HIERARCHIES = ("pids", "freezer", "systemd")


@dataclass(frozen=True, slots=True)
class Fence:
    """What surrounds the processes of one service.

    Attributes:
        session: id of the session: that of the service's first process.
        started: when that process started, in the kernel's ticks, which tells it from a later one with the same id.
        marker: value of the variable `HAES_SERVICE` in the environment of all of them.
        cgroup: folder of their control group, empty where none could be made.
    """

    session: int
    started: int
    marker: str
    cgroup: str = ""


def make_cgroup(name: str) -> str:
    """Makes a control group and returns its folder; empty where the system does not allow it."""
    for base in _cgroup_bases():
        folder = base / re.sub(r"[^A-Za-z0-9._-]", "_", name)
        try:
            folder.mkdir()
        except FileExistsError:
            return str(folder)
        except OSError:
            continue
        return str(folder)
    return ""


def _cgroup_bases() -> Iterator[Path]:
    """Yields the folders of control groups in which this process may make one, best first."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    own = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own[controllers] = path.lstrip("/")
    if (_CGROUP_ROOT / "cgroup.controllers").exists():
        yield _CGROUP_ROOT / own.get("", "")
    for hierarchy in _OLD_HIERARCHIES:
        controllers = f"name={hierarchy}" if hierarchy == "systemd" else hierarchy
        if controllers in own and (_CGROUP_ROOT / hierarchy).is_dir():
            yield _CGROUP_ROOT / hierarchy / own[controllers]


def enter_cgroup(folder: str) -> None:
    """Moves the calling process into a control group; called between fork and exec."""
    if folder:
        descriptor = os.open(f"{folder}/cgroup.procs", os.O_WRONLY)
        os.write(descriptor, b"0")
        os.close(descriptor)


def remove_cgroup(folder: str) -> None:
    """Removes a control group that is empty; one that is not stays."""
    if folder:
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def members(fences: Collection[Fence]) -> set[int]:
    """Returns the processes within any of the fences, zombies left out."""
    found = {pid for fence in fences for pid in _cgroup_members(fence.cgroup)}
    sessions = {fence.session for fence in fences if fence.session > 0 and _is_same(fence)}
    markers = {f"{MARKER}={fence.marker}".encode() for fence in fences if fence.marker}
    for pid in _all_processes():
        try:
            state, session, _ = look(pid)
            if state == "Z":
                found.discard(pid)
            elif session in sessions or not markers.isdisjoint(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
                found.add(pid)
        except OSError:
            # It ended meanwhile, or belongs to somebody else.
            continue
    found.discard(os.getpid())
    return found


def kill_all(fences: Collection[Fence]) -> bool:
    """Kills everything within the fences; returns whether nothing is left."""
    deadline = time.monotonic() + KILL_LIMIT
    for fence in fences:
        _kill_cgroup(fence.cgroup)
    while left := members(fences):
        _signal(left, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(KILL_INTERVAL)
        reap()
    for fence in fences:
        remove_cgroup(fence.cgroup)
    return True


# Children collected so far, also while something was killed: process id -> wait status.
_reaped: dict[int, int] = {}


def reap() -> None:
    """Collects children that ended."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            _reaped[ended[0]] = ended[1]


def take_reaped() -> dict[int, int]:
    """Collects children, and returns all that were collected since this was last asked: process id -> wait status."""
    reap()
    taken = _reaped.copy()
    _reaped.clear()
    return taken


def _kill_cgroup(folder: str) -> None:
    if folder:
        with contextlib.suppress(OSError):
            Path(folder, "cgroup.kill").write_text("1")


def _cgroup_members(folder: str) -> Iterable[int]:
    if not folder:
        return ()
    try:
        return [int(line) for line in Path(folder, "cgroup.procs").read_text().split()]
    except OSError:
        return ()


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _all_processes() -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            yield int(folder.name)


def _is_same(fence: Fence) -> bool:
    """Returns whether a session is still the one that was fenced; its id is free once all of its processes ended."""
    try:
        return look(fence.session)[2] == fence.started
    except OSError:
        # Its first process is gone. The id stays taken as long as anything of the session lives.
        return True


def look(pid: int) -> tuple[str, int, int]:
    """Returns state, session and start time (in ticks) of a process.

    Raises:
        OSError: there is no such process.
    """
    # The name of a program may hold blanks and parentheses; what follows its last one does not.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[3]), int(fields[19])
