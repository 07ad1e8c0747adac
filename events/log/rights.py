"""Which rights on a server each kind of user needs; as ACL rules (Redis 7 and newer, which know rights per key).

| role | may |
|---|---|
| manager | append, hold leases, keep snapshots, read everything, remove requests that were served |
| agent | append, hold leases, read everything, write samples and what services printed |
| operator | read everything; write requests into the streams that bear his name, and nothing else |
| auditor | read everything |

Managers and agents append through scripts that check their tokens; a server cannot tell their appends apart, so both
may run scripts on the log's keys. Operators and auditors cannot append at all.
"""

from collections.abc import Sequence

from events.log.durability import FSYNC, Durability
from events.log.redis_keys import keys_of

ROLES = ("manager", "agent", "operator", "auditor")

_CONNECT = ("+ping", "+select", "+info", "+time", "+hello", "+multi", "+exec")
_READ = (
    "+xrange",
    "+xrevrange",
    "+xread",
    "+xlen",
    "+hmget",
    "+hget",
    "+hgetall",
    "+hkeys",
    "+exists",
    "+smembers",
    "+eval_ro",
    "+evalsha_ro",
)
_APPEND = ("+evalsha", "+eval", "+script|load", "+hset", "+hincrby", "+hdel", "+del", "+xadd", "+sadd", "+xtrim")
# What the scripts call is checked against the user's rights, too.
_IN_SCRIPTS = ("+zadd", "+zscore", "+zrem", "+zrangebyscore", "+type", "+xinfo", "+wait")


def rules_for(role: str, cluster: str, user: str, durability: Durability) -> Sequence[str]:
    """Returns the rules for a user, after `ACL SETUSER NAME`.

    Args:
        role: one of `ROLES`.
        cluster: name of the cluster.
        user: the user's name on the server, which for an operator is the name of his stream.
        durability: what appends wait for; a server too old to prove `fsync` does not know the right, either.

    Raises:
        UserError: a cluster cannot be called so.
    """
    keys = keys_of(cluster)
    everything = keys.side_prefix + "*"
    prove = ("+waitaof",) if durability.kind == FSYNC else ()
    if role == "manager":
        return (f"~{everything}", *_CONNECT, *_READ, *_APPEND, *_IN_SCRIPTS, *prove, "+xdel")
    if role == "agent":
        writes = [keys.events, keys.head, keys.versions, keys.done, keys.results, keys.epochs, keys.sides]
        writes += [keys.lease("*"), keys.side("telemetry"), keys.side("output")]
        return (
            *(f"~{key}" for key in writes),
            f"%R~{everything}",
            *(*_CONNECT, *_READ, *_APPEND, *_IN_SCRIPTS, *prove),
        )
    if role == "operator":
        streams = (keys.side("commands:" + user), keys.side("logs:" + user), keys.sides)
        own = f"({' '.join(f'~{key}' for key in streams)} +xadd +sadd +xdel)"
        return (f"%R~{everything}", *_CONNECT, *_READ, own)
    return (f"%R~{everything}", *_CONNECT, *_READ)
