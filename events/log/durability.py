"""When an append counts as done: as soon as the server has it, or only when it would survive the server's end.

| durability | an append is done when |
|---|---|
| `local` | the server has acknowledged it |
| `replicas:N` | N replicas have it, too |
| `fsync` | the server has it in its file, on disk |

Stronger ones are slower by a round trip to a replica or to a disk. Knows no client.
"""

import re
from dataclasses import dataclass
from typing import Any

from events.errors import UserError

LOCAL, REPLICAS, FSYNC = "local", "replicas", "fsync"
ALLOWED = "local, replicas:N (N from 1 to 9) or fsync"
# The oldest server that can say whether something is on disk.
FSYNC_SERVER = (7, 2)
# Milliseconds for replicas, or for the disk, to have an append: less than the client waits for a reply.
PROOF_LIMIT = 2000

_REPLICAS = re.compile(r"replicas:([1-9])")


@dataclass(frozen=True, slots=True)
class Durability:
    """One of the kinds above; `replicas` is N."""

    kind: str
    replicas: int = 0

    @property
    def needs_proof(self) -> bool:
        """Whether the server must be asked how far an append has got."""
        return self.kind != LOCAL

    def command(self) -> tuple[str | int, ...]:
        """Returns the command that asks it."""
        if self.kind == FSYNC:
            return "WAITAOF", 1, 0, PROOF_LIMIT
        return "WAIT", self.replicas, PROOF_LIMIT

    def shortage(self, proof: Any) -> str | None:
        """Returns in words what the reply to that command lacks, None if nothing."""
        if self.kind == REPLICAS and proof < self.replicas:
            return f"{proof} of {self.replicas} replicas have it"
        if self.kind == FSYNC and proof[0] < 1:
            return "it is not on disk yet"
        return None

    def check_server(self, version: str, shown: str) -> None:
        """Refuses a server that cannot prove what is asked for.

        Raises:
            UserError: it cannot.
        """
        numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if self.kind == FSYNC and numbers < FSYNC_SERVER:
            needed = ".".join(map(str, FSYNC_SERVER))
            raise UserError(f"{shown}: durability 'fsync' needs Redis {needed} or newer, the server is {version}")

    def check_file(self, shown: str) -> None:
        """Refuses a server that keeps no file, if there must be one.

        Raises:
            UserError: there must.
        """
        if self.kind == FSYNC:
            raise UserError(f"{shown}: durability 'fsync' needs an append-only file; set 'appendonly yes' there")


def read_durability(text: str) -> Durability:
    """Reads a durability.

    Raises:
        UserError: there is none like that.
    """
    if text in {LOCAL, FSYNC}:
        return Durability(text)
    if match := _REPLICAS.fullmatch(text):
        return Durability(REPLICAS, int(match[1]))
    raise UserError(f"'durability' cannot be '{text}'; allowed is {ALLOWED}")
