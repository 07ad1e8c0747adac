"""Whether a server is fit to keep a log, and what an operator should know of it; changes nothing there."""

import re

from events.errors import UserError
from events.log.durability import Durability
from events.log.redis_client import Server

# The oldest server that has every command in use (exclusive ranges of streams came with it).
OLDEST_SERVER = (6, 2)
# The oldest server that lets scripts which only read be run with rights to read.
READING_SCRIPTS_SERVER = (7, 0)


async def check_server(server: Server, durability: Durability) -> tuple[str, ...]:
    """Learns what a server is and can do, and returns warnings in words.

    Raises:
        UserError: it cannot keep a log, or would not keep it.
    """
    about = await server.info("server")
    version = about.get("redis_version", "0")
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        raise UserError(f"{server.shown}: the server is Redis {version}; {oldest} or newer is needed")
    durability.check_server(version, server.shown)
    policy = (await server.info("memory")).get("maxmemory_policy", "noeviction")
    if policy.startswith("allkeys"):
        raise UserError(
            f"{server.shown}: maxmemory-policy is {policy}, under which the server may drop the log; use noeviction"
        )
    server.tells_reading = numbers >= READING_SCRIPTS_SERVER
    server.run_id = about.get("run_id", "")
    if (await server.info("persistence")).get("aof_enabled") != "0":
        return ()
    durability.check_file(server.shown)
    return (f"{server.shown}: the server keeps no append-only file (appendonly no); what it has is lost when it ends",)
