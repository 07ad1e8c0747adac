"""A cluster as its file describes it: nodes, resources, rules, settings, intervals; plain data and its checks.

The file is what a cluster begins with, and where its processes find the log and the intervals. Once the cluster runs,
resources, rules and settings are changed by commands, and the stream is the truth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from events.errors import UserError
from events.log.durability import read_durability
from haes import settings as cluster_settings
from haes.configuration import values
from haes.configuration.resource import check_changes
from haes.rules.parse import parse_rules
from haes.rules.report import doubts
from haes.rules.values import is_node


@dataclass(frozen=True, slots=True)
class Intervals:
    """How often things happen, and how long they hold; seconds unless it says otherwise.

    Attributes:
        round: between two regular rounds of the leader. 10: what the simulations and the settings that count rounds
            assume; commands and reports do not wait for it.
        agent_round: between two rounds of an agent; orders wake it earlier, so this is how often it checks by itself.
        leader_lease: the leader's term. 15: one round and a half, so that a leader that misses a round because its
            server is slow keeps leading, and a dead one is replaced in about the time of a round.
        agent_lease: an agent's term. 60: longer than the outages of a server that should be tolerated, since every
            service of a node stops when its agent could not renew for so long.
        fence_delay: after a node's term is over, before its services are started elsewhere: time for the node's keeper
            to kill what is left, and for clocks that do not run equally fast.
        sample: between two samples of load.
        snapshot_events: events (a number, not seconds) between two snapshots by the leader.
    """

    round: float = 10.0
    agent_round: float = 5.0
    leader_lease: float = 15.0
    agent_lease: float = 60.0
    fence_delay: float = 10.0
    sample: float = 10.0
    snapshot_events: int = 10_000


@dataclass(frozen=True, slots=True)
class Archiving:
    """How old events leave the stream; without it the stream keeps everything.

    Attributes:
        directory: where segments lie; every host that runs a manager reaches it under this name.
        interval: seconds between two looks of the leader whether there is enough for a segment.
        segment_events: events of one segment.
        keep_events: of the last events, how many stay in the stream in any case: so many are there without the archive.
    """

    directory: str
    interval: float = 600.0
    segment_events: int = 250_000
    keep_events: int = 100_000


@dataclass(frozen=True, slots=True)
class NodeValues:
    """What a node offers, where it is not to be measured, and what fences it.

    Attributes:
        cpus: cores, None to measure them.
        memory: bytes, None to measure them.
        hardware_watchdog: device that resets the machine when the node's keeper stops, None for none.
    """

    cpus: float | None = None
    memory: int | None = None
    hardware_watchdog: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterConfiguration:
    """A whole cluster.

    Attributes:
        name: of the cluster, part of its keys.
        log: URL of the event log, or None where the command line or the environment names it.
        directory: where processes of this machine keep what is theirs: sockets, outputs of services.
        durability: when an append counts as done: `local`, `fsync`, or `replicas:N`.
        nodes: name -> values.
        resources: id -> changes as `resource.configured` carries them.
        rules: affinity rules as section configuration.
        settings: as `settings.changed` carries them.
        intervals: timing.
        archiving: what becomes of old events.
    """

    name: str = "main"
    log: str | None = None
    directory: str = "var"
    durability: str = "local"
    nodes: Mapping[str, NodeValues] = field(default_factory=dict)
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rules: str = ""
    settings: cluster_settings.Settings = field(default_factory=dict)
    intervals: Intervals = field(default_factory=Intervals)
    archiving: Archiving | None = None


class Misplaced(UserError):
    """A value that is not allowed, and the path of keys to it, outermost first."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


_LOWEST_INTERVAL = 0.1
_LONGEST_INTERVAL = 3600.0
# A day: longer, and a stream that grows quickly fills the server's memory unnoticed.
_LONGEST_ARCHIVE_INTERVAL = 86400.0


def check_cluster(data: Mapping[str, Any]) -> ClusterConfiguration:
    """Makes a configuration of what a file says.

    Raises:
        Misplaced: a key or value is not allowed, or one is missing.
    """
    known = {"archive", "cluster", "intervals", "nodes", "resources", "rules", "settings"}
    for key in data:
        if key not in known:
            raise Misplaced((key,), f"unknown key '{key}'; known are {', '.join(sorted(known))}")
    about = _table(data, "cluster")
    _known_keys(("cluster",), about, {"name", "log", "directory", "durability"})
    nodes = _nodes(_table(data, "nodes"))
    resources = {}
    for resource, given in _table(data, "resources").items():
        path = ("resources", resource)
        if not isinstance(given, Mapping):
            raise Misplaced(path, f"'{resource}' must be a table")
        resources[resource] = _at(path, check_changes, resource, given, nodes, resource)
    return ClusterConfiguration(
        name=_at(("cluster", "name"), values.text, "cluster", "name", about.get("name", "main")),
        log=_at(("cluster", "log"), values.text, "cluster", "log", about["log"]) if "log" in about else None,
        directory=_at(("cluster", "directory"), values.text, "cluster", "directory", about.get("directory", "var")),
        durability=_durability(about.get("durability", "local")),
        nodes=nodes,
        resources=resources,
        rules=_rules(data.get("rules", ""), nodes),
        settings=_at(("settings",), cluster_settings.check_settings, data.get("settings", {}), "settings"),
        intervals=_intervals(_table(data, "intervals")),
        archiving=_archiving(_table(data, "archive")) if "archive" in data else None,
    )


def _at(path: tuple[str, ...], check: Any, *arguments: Any) -> Any:
    """Calls a check; its error gets the path, down to the key that its message quotes first, if that is below."""
    try:
        return check(*arguments)
    except UserError as error:
        message = str(error)
        quoted = message.split("'")[1::2]
        for name in quoted:
            if name not in path:
                path = (*path, name)
                break
        raise Misplaced(path, message) from error


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, Mapping):
        raise Misplaced((key,), f"'{key}' must be a table")
    return table


def _known_keys(path: tuple[str, ...], given: Mapping[str, Any], known: set[str]) -> None:
    _at(path, values.check_keys, ".".join(path), given, known)


def _nodes(table: Mapping[str, Any]) -> dict[str, NodeValues]:
    if not table:
        raise Misplaced(("nodes",), "there is no node; expected a table [nodes.NAME] for each")
    nodes = {}
    for node, given in table.items():
        path = ("nodes", node)
        if not is_node(node):
            raise Misplaced(path, f"'{node}' is no name of a node; allowed are letters, digits and '-'")
        if not isinstance(given, Mapping):
            raise Misplaced(path, f"'{node}' must be a table")
        _known_keys(path, given, {item.name for item in fields(NodeValues)})
        cpus, memory, device = given.get("cpus"), given.get("memory"), given.get("hardware_watchdog")
        nodes[node] = NodeValues(
            None if cpus is None else _at((*path, "cpus"), values.number, node, "cpus", cpus),
            None if memory is None else _at((*path, "memory"), values.size, node, "memory", memory),
            None
            if device is None
            else _at((*path, "hardware_watchdog"), values.text, node, "hardware_watchdog", device),
        )
    return nodes


def _durability(value: object) -> str:
    try:
        read_durability(str(value))
    except UserError as error:
        raise Misplaced(("cluster", "durability"), str(error)) from error
    return str(value)


def _rules(text: object, nodes: Mapping[str, NodeValues]) -> str:
    if not isinstance(text, str):
        raise Misplaced(("rules",), "'rules' must be a text in section configuration")
    rules, problems = parse_rules(text, "rules")
    problems += doubts(rules, "rules", sorted(nodes))
    if problems:
        raise Misplaced(("rules",), str(problems[0]))
    return text


def _intervals(table: Mapping[str, Any]) -> Intervals:
    names = {item.name for item in fields(Intervals)}
    _known_keys(("intervals",), table, names)
    given: dict[str, Any] = {}
    for key, value in table.items():
        path = ("intervals", key)
        if key == "snapshot_events":
            given[key] = _at(path, lambda key=key, value=value: values.count("intervals", key, value, lowest=1))
        else:
            lowest = 0.0 if key == "fence_delay" else _LOWEST_INTERVAL
            given[key] = _at(
                path,
                lambda key=key, value=value, lowest=lowest: values.seconds(
                    "intervals", key, value, lowest=lowest, highest=_LONGEST_INTERVAL
                ),
            )
    intervals = Intervals(**given)
    if intervals.agent_lease < 2 * intervals.agent_round:
        raise Misplaced(
            ("intervals", "agent_lease"),
            f"'agent_lease' cannot be {intervals.agent_lease:g}; allowed is at least twice agent_round, "
            f"{2 * intervals.agent_round:g}",
        )
    return intervals


def _archiving(table: Mapping[str, Any]) -> Archiving:
    _known_keys(("archive",), table, {item.name for item in fields(Archiving)})
    if "directory" not in table:
        raise Misplaced(("archive",), "'directory' is missing in [archive]: the folder where segments lie")
    given: dict[str, Any] = {
        "directory": _at(("archive", "directory"), values.text, "archive", "directory", table["directory"])
    }
    for key, lowest in (("segment_events", 1), ("keep_events", 0)):
        if key in table:
            check = partial(values.count, "archive", key, table[key], lowest=lowest)
            given[key] = _at(("archive", key), check)
    if "interval" in table:
        limits = {"lowest": _LOWEST_INTERVAL, "highest": _LONGEST_ARCHIVE_INTERVAL}
        given["interval"] = _at(
            ("archive", "interval"), partial(values.seconds, "archive", "interval", table["interval"], **limits)
        )
    return Archiving(**given)
