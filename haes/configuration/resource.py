"""What a resource's configuration may say, in files and in commands alike; knows no file and no state.

The keys that a driver needs (`command` and the like) are kept apart from those that the leader looks at, in `service`.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from events.errors import UserError
from haes.configuration import values
from haes.state.records import CONFIGURATION_DEFAULTS

RESOURCE_ID = re.compile(r"[a-z]+:[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
REQUESTED_STATES = ("started", "stopped", "disabled", "ignored")
STORE_LOSS = ("stop", "keep")
# Seconds for a service to end after SIGTERM, and for its check command to answer: bounds; a driver has the defaults.
SHORTEST_STOP, LONGEST_STOP = 0.1, 3600.0
LONGEST_CHECK = 300.0
# Seconds between two checks, for the first one to pass, and for a service without one to count as up: bounds.
SHORTEST_CHECK_INTERVAL, LONGEST_CHECK_INTERVAL = 0.1, 3600.0
LONGEST_GRACE = 3600.0
# Seconds of a restart policy, and the factor between two delays: bounds; the cluster's settings have the defaults.
LONGEST_DELAY, LARGEST_FACTOR = 86400.0, 100.0
# What a resource gets where a file or a command says nothing.
DEFAULTS: dict[str, Any] = {**CONFIGURATION_DEFAULTS, "state": "started", "auto_rebalance": True}

_Check = Callable[[str, str, object], Any]


def _stop_timeout(origin: str, key: str, value: object) -> float:
    return values.seconds(origin, key, value, lowest=SHORTEST_STOP, highest=LONGEST_STOP)


def _check_timeout(origin: str, key: str, value: object) -> float:
    return values.seconds(origin, key, value, lowest=SHORTEST_STOP, highest=LONGEST_CHECK)


def _check_interval(origin: str, key: str, value: object) -> float:
    return values.seconds(origin, key, value, lowest=SHORTEST_CHECK_INTERVAL, highest=LONGEST_CHECK_INTERVAL)


def _check_failures(origin: str, key: str, value: object) -> int:
    return values.count(origin, key, value, lowest=1)


def _grace(origin: str, key: str, value: object) -> float:
    return values.seconds(origin, key, value, lowest=0.0, highest=LONGEST_GRACE)


def _delay(origin: str, key: str, value: object) -> float:
    return values.seconds(origin, key, value, lowest=0.0, highest=LONGEST_DELAY)


def _factor(origin: str, key: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= LARGEST_FACTOR:
        return float(value)
    raise values.refuse(origin, key, value, f"a number from 1 to {LARGEST_FACTOR:g}")


def _state(origin: str, key: str, value: object) -> str:
    return values.choice(origin, key, value, REQUESTED_STATES)


def _store_loss(origin: str, key: str, value: object) -> str:
    return values.choice(origin, key, value, STORE_LOSS)


def _absolute(origin: str, key: str, value: object) -> str:
    """Returns the path of a file, which is another place on every node unless it is absolute."""
    path = values.text(origin, key, value)
    if not path.startswith("/"):
        raise values.refuse(origin, key, value, "an absolute path")
    return path


_LEADER_KEYS: dict[str, _Check] = {
    "node": values.text,
    "state": _state,
    "failback": values.flag,
    "max_restart": values.count,
    "max_relocate": values.count,
    "auto_rebalance": values.flag,
    "on_store_loss": _store_loss,
}
_LIMIT_KEYS: dict[str, _Check] = {"cpus": values.number, "memory": values.size}
_SERVICE_KEYS: dict[str, _Check] = {
    "command": values.command,
    "environment": values.environment,
    "environment_file": _absolute,
    "directory": values.text,
    "stop_timeout": _stop_timeout,
    "check": values.command,
    "check_timeout": _check_timeout,
    "check_interval": _check_interval,
    "check_failures": _check_failures,
    "check_grace": _grace,
    "ready_after": _grace,
    "restart_delay": _delay,
    "restart_factor": _factor,
    "restart_max_delay": _delay,
    "restart_window": _delay,
    "restart_healthy": _delay,
}
_KEYS = {**_LEADER_KEYS, **_LIMIT_KEYS, **_SERVICE_KEYS}


def check_id(resource: str, origin: str) -> None:
    """Refuses a name that cannot be a resource's.

    Raises:
        UserError: it cannot.
    """
    if not RESOURCE_ID.fullmatch(resource):
        raise UserError(f"{origin}: '{resource}' is no resource id; expected KIND:NAME such as process:web or vm:101")


def check_changes(
    resource: str,
    given: Mapping[str, Any],
    nodes: Collection[str],
    origin: str,
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns what `resource.configured` carries for what people wrote.

    Args:
        resource: the resource.
        given: keys and values as written, flat.
        nodes: the nodes of the cluster.
        origin: where it was written, for messages.
        before: `service` and `limits` as they are, for a resource that exists already; None for a new one.

    Raises:
        UserError: the id, a key or a value is not allowed, or one is missing.
    """
    check_id(resource, origin)
    values.check_keys(origin, given, _KEYS)
    checked = {key: _KEYS[key](origin, key, value) for key, value in given.items()}
    if "node" in checked and checked["node"] not in nodes:
        raise UserError(f"{origin}: there is no node '{checked['node']}'; known are {', '.join(sorted(nodes))}")
    changes = {key: checked[key] for key in _LEADER_KEYS if key in checked}
    service = {key: checked[key] for key in _SERVICE_KEYS if key in checked}
    limits = {key: checked[key] for key in _LIMIT_KEYS if key in checked}
    if before is None:
        if "node" not in changes:
            raise UserError(f"{origin}: 'node' is missing; known are {', '.join(sorted(nodes))}")
        if resource.startswith("process:") and "command" not in service:
            raise UserError(f"{origin}: 'command' is missing; a process needs the command line that runs it")
        return {**DEFAULTS, **changes, "service": service, "limits": limits}
    if service:
        changes["service"] = {**before["service"], **service}
    if limits:
        changes["limits"] = {**before["limits"], **limits}
    return changes
