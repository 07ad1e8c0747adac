"""A node whose services only pretend to run: a file says which. For demonstrations and for tests of everything else.

It keeps the promises of a real node: services outlive the agent, end when their deadline passes unfed, and a token
that is not the newest is refused.
"""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from threading import RLock
from typing import Any

from events.log.port import NO_RIGHT, Right, Token
from haes.clock import boottime
from haes.drivers.port import Emit, ServiceEnd
from haes.drivers.process.client import RightRefused
from haes.telemetry import Sample


class PretendNode:
    """See LiveNode and Driver: one object is both."""

    kinds = frozenset({"vm", "ct", "fa"})
    balances = False

    def __init__(self, file: Path, node: str, *, cpus: float = 4.0, memory: int = 8 * 1024**3) -> None:
        """Opens the node's file, which is created when it is missing.

        Args:
            file: what runs, the deadline, the highest token.
            node: the node.
            cpus: cores that it pretends to offer.
            memory: bytes that it pretends to offer.
        """
        self._file = file
        self._node = node
        self._cpus, self._memory = cpus, memory
        self._token: Token | None = None
        # Jobs of different services run in different threads.
        self._lock = RLock()

    @property
    def driver(self) -> "PretendNode":
        """See LiveNode."""
        return self

    def use(self, token: Token) -> None:
        """See LiveNode."""
        with self._lock:
            self._token = token

    def newest(self) -> Right:
        """See LiveNode."""
        with self._lock:
            generation, epoch, _ = self._read().get("token", (*NO_RIGHT, ""))
            return generation, epoch

    def feed(self, deadline: float) -> None:
        """See LiveNode."""
        self._change(deadline=deadline)

    def disarm(self) -> None:
        """See LiveNode."""
        self._change(deadline=None)

    def fired(self) -> tuple[str, ...] | None:
        """See LiveNode."""
        with self._lock:
            if self._read().get("fired") is None:
                return None
            data = self._entitled()
            fired = data.pop("fired")
            self._write(data)
            return tuple(fired)

    def kill(self, resources: Collection[str]) -> None:
        """See LiveNode."""
        with self._lock:
            data = self._entitled()
            data["services"] = [name for name in data["services"] if name not in resources]
            self._write(data)

    def services(self) -> dict[str, bool]:
        """See LiveNode."""
        with self._lock:
            return dict.fromkeys(self._read()["services"], True)

    def said(self, _resource: str, _lines: int, after: str) -> tuple[list[str], str]:
        """See LiveNode: what pretends to run prints nothing."""
        return [], after

    def check(self) -> None:
        """See LiveNode."""

    def ends(self) -> Sequence[ServiceEnd]:
        """See LiveNode: what pretends to run does not end by itself."""
        return ()

    def forget_ends(self, runs: Collection[str]) -> None:
        """See LiveNode."""

    def measure(self) -> Sample:
        """See LiveNode."""
        share = (self._cpus / 16, self._memory // 16)
        services = dict.fromkeys(self.services(), share)
        used = len(services)
        return Sample(self._node, self._cpus, self._memory, used * share[0], used * share[1], services)

    def close(self) -> None:
        """See LiveNode."""

    def running(self, resource: str) -> bool:
        """See Driver."""
        return resource in self.services()

    def start(self, resource: str, _emit: Emit) -> None:
        """See Driver."""
        with self._lock:
            data = self._entitled()
            if data.get("fired") is not None:
                raise RightRefused(f"node {self._node} starts nothing before it is fed")
            data["services"] = sorted({*data["services"], resource})
            self._write(data)

    def tells_ends(self, _resource: str) -> bool:
        """See Driver."""
        return False

    def interrupt(self, resource: str) -> None:
        """See Driver: what pretends to run is up at once."""

    def stop(self, resource: str, _timeout: int | None, _emit: Emit) -> None:
        """See Driver."""
        self.kill([resource])

    def move(self, resource: str, target: str, emit: Emit, *, live: bool) -> bool:
        """See Driver."""
        verb = "migrate" if live else "relocate"
        emit("job.moving", verb=verb, target=target)
        if self.running(resource):
            emit("job.stopping", relocate=True)
            self.kill([resource])
            emit("job.stopped")
        emit("job.moved", verb=verb, target=target)
        return True

    def preflight(self, _resource: str, _target: str) -> Sequence[str]:
        """See Driver."""
        return ()

    def _change(self, **values: Any) -> None:
        with self._lock:
            self._write({**self._entitled(), **values})

    def _entitled(self) -> dict[str, Any]:
        """Returns what the file says, and lets nobody act whose right is older than one that was seen before."""
        data, token = self._read(), self._token
        if token is None:
            raise RightRefused(f"node {self._node} was given no right to act yet")
        generation, epoch, nonce = data.get("token", (*NO_RIGHT, ""))
        if token.right < (generation, epoch) or (token.right == (generation, epoch) and token.nonce != nonce):
            raise RightRefused(f"node {self._node} refuses {token.right} ({token.nonce}): {generation, epoch} was here")
        data["token"] = [token.generation, token.epoch, token.nonce]
        return data

    def _read(self) -> dict[str, Any]:
        """Returns what the file says; services whose deadline has passed are dead."""
        try:
            data: dict[str, Any] = json.loads(self._file.read_text())
        except FileNotFoundError:
            return {"services": [], "deadline": None}
        deadline = data.get("deadline")
        if deadline is not None and boottime() >= deadline:
            data |= {"fired": data["services"], "services": [], "deadline": None}
            self._write(data)
        return data

    def _write(self, data: dict[str, Any]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(data))
        new.replace(self._file)
