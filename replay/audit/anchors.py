"""Places outside the log where seals are anchored, so that whoever rewrites the log cannot rewrite its seals as well.

| anchor | what it is | can be read back |
|---|---|---|
| `file:PATH` | a file that is only appended to, one seal a line | yes |
| `git:FOLDER` | a file in a repository; each sealing is a commit | yes |
| `syslog:` or `syslog:HOST:PORT` | a message for each seal | no |
| `webhook:URL` | a POST for each seal | no |
"""

import fcntl
import logging
import os
import subprocess
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Sequence
from logging.handlers import SysLogHandler
from pathlib import Path

from events.errors import UserError
from replay.audit.seals import Seal, read_seal

# Seconds for a program or a server to take a seal.
LIMIT = 30.0
SYSLOG_PORT = 514
FORMS = "file:PATH, git:FOLDER, syslog:, syslog:HOST:PORT, webhook:URL"


class Anchor(ABC):
    """A place where seals are kept."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, _cluster: str) -> list[Seal] | None:
        """Returns the seals of a cluster, or None where they cannot be read back."""
        return None

    @abstractmethod
    def add(self, seals: Sequence[Seal]) -> None:
        """Keeps seals.

        Raises:
            UserError: it cannot.
        """


class FileAnchor(Anchor):
    """A file to which lines are appended."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name)
        self.path = path

    def read(self, cluster: str) -> list[Seal]:
        """See Anchor."""
        try:
            lines = self.path.read_text().splitlines()
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{self.path}: cannot be read ({error})") from error
        seals = [read_seal(line, str(self.path)) for line in lines if line]
        return [seal for seal in seals if seal.cluster == cluster]

    def add(self, seals: Sequence[Seal]) -> None:
        """See Anchor; the lines are on disk when this returns."""
        try:
            with self.path.open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write("".join(seal.to_line() + "\n" for seal in seals))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UserError(f"{self.path}: cannot be written ({error.strerror})") from error


class GitAnchor(FileAnchor):
    """A file in a repository, which remembers when each line came."""

    FILE = "haes-seals.jsonl"

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name, folder / self.FILE)
        self._folder = folder

    def add(self, seals: Sequence[Seal]) -> None:
        """See Anchor."""
        super().add(seals)
        self._git("add", "--", self.FILE)
        last = seals[-1]
        self._git("commit", "--quiet", "--message", f"Seal {last.cluster} up to event {last.last}", "--", self.FILE)

    def read(self, cluster: str) -> list[Seal]:
        """See Anchor: what is committed counts, not what lies in the folder."""
        if not self.path.exists():
            return []
        text = self._git("show", f"HEAD:./{self.FILE}")
        seals = [read_seal(line, str(self.path)) for line in text.splitlines() if line]
        return [seal for seal in seals if seal.cluster == cluster]

    def _git(self, *words: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the program is fixed
                ["git", "-C", str(self._folder), *words],  # noqa: S607 - wherever git is
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UserError(f"{self.name}: git cannot be run ({error})") from error
        if done.returncode:
            raise UserError(f"{self.name}: git {words[0]} failed ({' '.join(done.stderr.split())})")
        return done.stdout


class SyslogAnchor(Anchor):
    """Messages to a log daemon, here or elsewhere."""

    def __init__(self, name: str, address: str | tuple[str, int]) -> None:
        super().__init__(name)
        self._address = address

    def add(self, seals: Sequence[Seal]) -> None:
        """See Anchor; a daemon confirms nothing."""
        try:
            handler = SysLogHandler(self._address, SysLogHandler.LOG_AUTH)
        except OSError as error:
            raise UserError(f"{self.name}: no log daemon listens there ({error})") from error
        for seal in seals:
            text = f"haes: seal {seal.number} of {seal.cluster} up to event {seal.last}: {seal.digest}"
            handler.handle(logging.LogRecord("haes", logging.INFO, "", 0, text, None, None))
        handler.close()


class WebhookAnchor(Anchor):
    """A server that takes seals by POST."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(name)
        self._url = url

    def add(self, seals: Sequence[Seal]) -> None:
        """See Anchor; each seal must be answered with success."""
        for seal in seals:
            request = urllib.request.Request(  # noqa: S310 - the scheme was checked
                self._url, seal.to_line().encode(), {"Content-Type": "application/json"}
            )
            try:
                with urllib.request.urlopen(request, timeout=LIMIT):  # noqa: S310 - see above
                    pass
            except (OSError, urllib.error.URLError) as error:
                raise UserError(f"{self.name}: seal {seal.number} was not taken ({error})") from error


def open_anchor(name: str) -> Anchor:
    """Returns the anchor that a name names.

    Raises:
        UserError: it names none.
    """
    kind, _, rest = name.partition(":")
    match kind:
        case "file" if rest:
            return FileAnchor(name, Path(rest).expanduser())
        case "git" if rest:
            return GitAnchor(name, Path(rest).expanduser())
        case "syslog":
            host, colon, port = rest.partition(":")
            if not rest:
                return SyslogAnchor(name, "/dev/log")
            if host and (not colon or port.isdecimal()):
                return SyslogAnchor(name, (host, int(port or SYSLOG_PORT)))
        case "webhook" if rest.startswith(("https://", "http://")):
            return WebhookAnchor(name, rest)
    raise UserError(f"'{name}' is no anchor; allowed are {FORMS}")
