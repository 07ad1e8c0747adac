"""The names of the keys that a cluster's log uses; the only place that spells them."""

import re
from dataclasses import dataclass

from events.errors import UserError

# What a cluster may be called: it becomes part of keys, paths and metrics.
_CLUSTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Keys:
    """All carry one hash tag, so that a script may use them together wherever a cluster of servers keeps them.

    Attributes:
        events: the stream.
        head: hash of log id, generation, last number and id, domain time, and the server that last kept the log.
        versions: hash of subject -> number of its events.
        done: sorted set of command ids by domain time.
        results: hash of command id -> what its append did.
        epochs: hash of lease -> highest epoch ever; never removed, so that epochs never fall.
        snapshot: hash of sequence number -> a fold up to there; a cache that may always be thrown away.
        lease_prefix: with the name of a lease, the hash that holds it.
        sides: set of the names of the streams beside the log.
        side_prefix: with the name of such a stream (`telemetry`, `commands:USER`), the stream.
    """

    events: str
    head: str
    versions: str
    done: str
    results: str
    epochs: str
    snapshot: str
    lease_prefix: str
    sides: str
    side_prefix: str

    def lease(self, name: str) -> str:
        """Returns the key of a lease."""
        return self.lease_prefix + name

    def side(self, name: str) -> str:
        """Returns the key of a stream beside the log."""
        return self.side_prefix + name


def keys_of(cluster: str) -> Keys:
    """Returns the keys of a cluster's log.

    Raises:
        UserError: a cluster cannot be called so.
    """
    if not _CLUSTER.fullmatch(cluster):
        raise UserError(
            f"cluster name '{cluster}' is not allowed: up to 63 letters, digits, '.', '_' and '-', "
            "starting with a letter or a digit"
        )
    prefix = f"haes:{{{cluster}}}:"
    return Keys(
        events=prefix + "events",
        head=prefix + "head",
        versions=prefix + "versions",
        done=prefix + "done",
        results=prefix + "done:results",
        epochs=prefix + "epochs",
        snapshot=prefix + "snapshot",
        lease_prefix=prefix + "lease:",
        sides=prefix + "sides",
        side_prefix=prefix,
    )
