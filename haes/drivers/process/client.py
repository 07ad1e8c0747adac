"""How an agent speaks with its node's keeper: starts it, asks it, one request a connection. Knows no service."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from events.errors import HaesError
from events.log.port import NO_RIGHT, Right, Token
from events.private import opener
from haes.drivers.process.keeper import SOCKET

# Seconds for a keeper to be there after its start; it first kills what a predecessor left behind.
START_LIMIT = 15.0
START_INTERVAL = 0.01
# Seconds for an answer. Killing hundreds of processes takes a while; an agent must not wait for ever all the same.
ANSWER_LIMIT = 10.0


class KeeperError(HaesError):
    """Something is wrong between an agent and its node's keeper."""


class KeeperRefused(KeeperError):
    """The keeper does not do what was asked; the message says why."""


class RightRefused(KeeperRefused):
    """The keeper lets nobody act with this right: a newer one was there, or the keeper was not fed in time."""


class KeeperAway(KeeperError):
    """The keeper cannot be reached."""


class KeeperClient:
    """The keeper of one directory."""

    def __init__(self, directory: Path, node: str, hardware_watchdog: str | None = None) -> None:
        self._directory = directory
        self._node = node
        self._hardware = hardware_watchdog
        self._token: Token | None = None

    def use(self, token: Token) -> None:
        """Acts under this token from now on."""
        self._token = token

    def ensure(self) -> None:
        """Starts the keeper unless it runs.

        Raises:
            KeeperAway: it does not come up.
        """
        deadline = time.monotonic() + START_LIMIT
        process: subprocess.Popen[bytes] | None = None
        while True:
            try:
                self.ask_once("status")
            except KeeperAway:
                if process is None or process.poll() is not None:
                    process = self._spawn()
                if time.monotonic() > deadline:
                    raise
                time.sleep(START_INTERVAL)
            else:
                if process is not None:
                    # It is to outlive this process, which must not be warned that it never waited for it.
                    process.returncode = process.returncode or 0
                return

    def newest(self) -> Right:
        """Returns the newest right that the keeper has seen.

        Raises:
            KeeperAway: the keeper does not answer.
        """
        # One that an earlier version of this program started does not say.
        generation, epoch = self.ask("status").get("token", NO_RIGHT)
        return generation, epoch

    def act(self, do: str, **values: Any) -> dict[str, Any]:
        """Asks for something that needs the agent's right.

        Raises:
            RightRefused: the right is not good.
            KeeperRefused: it cannot be done.
            KeeperAway: the keeper does not answer.
        """
        if self._token is None:
            raise RightRefused("the agent has no right to act yet")
        token = self._token
        return self.ask(do, token=[token.generation, token.epoch, token.nonce], **values)

    def ask(self, do: str, **values: Any) -> dict[str, Any]:
        """Sends a request and returns the answer; a keeper that is gone is started anew. Raises as `act` does."""
        try:
            return self.ask_once(do, **values)
        except KeeperAway:
            self.ensure()
            return self.ask_once(do, **values)

    def ask_once(self, do: str, **values: Any) -> dict[str, Any]:
        """Sends a request and returns the answer; raises as `act` does."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(ANSWER_LIMIT)
                self._connect(connection)
                connection.sendall(json.dumps({"do": do, **values}).encode() + b"\n")
                with connection.makefile("rb") as answers:
                    line = answers.readline()
        except OSError as error:
            raise KeeperAway(f"{self._directory}: the keeper does not answer ({error})") from error
        if not line:
            raise KeeperAway(f"{self._directory}: the keeper ended in the middle of a request")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            refused = KeeperRefused if answer.get("entitled", True) else RightRefused
            raise refused(f"{self._directory}: {answer['error']}")
        return answer

    def _connect(self, connection: socket.socket) -> None:
        """Connects by a short name: that of a socket may be no longer than a hundred bytes or so."""
        folder = os.open(self._directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)

    def _spawn(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "haes.drivers.process.keeper"]
        command += ["--directory", str(self._directory.absolute()), "--node", self._node]
        if self._hardware is not None:
            command += ["--hardware-watchdog", self._hardware]
        with open(self._directory / "keeper.log", "ab", opener=opener) as said:
            return subprocess.Popen(  # noqa: S603 - our own program
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
