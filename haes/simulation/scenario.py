"""A scenario: the inputs of a simulation, read from a folder and checked; knows nothing of how they are run.

Every file may be missing. Whatever is wrong ends in one line that names the file and the key.
"""

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from events.errors import UserError
from haes import settings as known_settings
from haes.rules.groups import parse_groups
from haes.rules.parse import parse_rules
from haes.simulation.steps import check_step

MEBIBYTE = 1024**2
# What a node and a resource have where a scenario says nothing.
DEFAULT_NODE: dict[str, Any] = {"power": "off", "network": "off", "maxcpu": 24.0, "maxmem": 131072 * MEBIBYTE}
DEFAULT_LIMITS = {"maxcpu": 4.0, "maxmem": 4096 * MEBIBYTE}
DEFAULT_LOAD = {"cpu": 2.0, "mem": 2048 * MEBIBYTE}
DEFAULT_NODES = ("node1", "node2", "node3")
DEFAULT_RESOURCES = {
    "vm:101": "node1",
    "vm:102": "node2",
    "vm:103": "node3",
    "vm:104": "node1",
    "vm:105": "node2",
    "vm:106": "node3",
}
# The node software where a scenario says nothing.
DEFAULT_VERSION = "9.0.0~2"

RESOURCE_ID = re.compile(r"^(vm|ct|fa):\d+$")
NODE_KEYS = frozenset(
    {"power", "network", "maxcpu", "maxmem", "cfs", "shutdown", "pve-manager-version", "storages", "networks"}
)
# What ties a resource to its node, or what it needs of another; `preflight` of the simulated driver reads them.
NEED_KEYS = frozenset({"local_cdrom", "local_disks", "passthrough", "confidential", "storages", "networks"})
RESOURCE_KEYS = (
    frozenset(
        {"node", "state", "failback", "max_restart", "max_relocate", "group", "lock", "auto-rebalance", "type", "name"}
    )
    | NEED_KEYS
)
REQUESTED_STATES = ("started", "stopped", "disabled", "ignored", "enabled")
MANAGER_KEYS = frozenset(
    {"master_node", "node_status", "service_status", "node_request", "disarm", "timestamp", "relocate_tried_nodes"}
)


@dataclass(slots=True)
class Scenario:
    """The inputs of a simulation, all of them plain data.

    Attributes:
        name: the folder's name.
        nodes: node -> power, network, maxcpu, maxmem and so on.
        resources: resource -> configuration as in the events.
        steps: the command list: steps of commands.
        settings: checked settings.
        rules: text of the affinity rules.
        groups: text of the old-style groups.
        limits: resource -> maxcpu, maxmem.
        loads: resource -> cpu, mem.
        manager: the manager's state to begin with.
        fence: text of the fence devices' configuration.
    """

    name: str
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    steps: list[list[str]] = field(default_factory=list)
    settings: known_settings.Settings = field(default_factory=dict)
    rules: str = ""
    groups: str = ""
    limits: dict[str, dict[str, Any]] = field(default_factory=dict)
    loads: dict[str, dict[str, Any]] = field(default_factory=dict)
    manager: dict[str, Any] = field(default_factory=dict)
    fence: str = ""

    def to_data(self) -> dict[str, Any]:
        """Returns the scenario as it goes on record, so that it can be run again."""
        return asdict(self)


def load_scenario(folder: Path, overrides: list[str] | None = None) -> Scenario:
    """Reads a scenario.

    Args:
        folder: the scenario's folder.
        overrides: `KEY=VALUE` for settings, see `settings.override`.

    Raises:
        UserError: the folder is missing, or a file in it is not as it should be.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    scenario = Scenario(name=folder.name)
    scenario.nodes = _nodes(folder / "hardware_status")
    scenario.resources = _resources(folder / "service_config", scenario.nodes)
    scenario.settings = known_settings.check_settings(
        _json(folder / "datacenter.cfg", {}), str(folder / "datacenter.cfg")
    )
    known_settings.refuse_live_only(scenario.settings, str(folder / "datacenter.cfg"))
    for override in overrides or ():
        known_settings.override_simulated(scenario.settings, override)
    scenario.rules = _text(folder / "rules_config")
    scenario.groups = _text(folder / "groups")
    _check_sections(folder, scenario)
    known = dict.fromkeys(scenario.resources, DEFAULT_LIMITS)
    scenario.limits = _stats(folder / "static_service_stats", known, frozenset(DEFAULT_LIMITS))
    loads = dict.fromkeys(scenario.limits, DEFAULT_LOAD)
    scenario.loads = _stats(folder / "dynamic_service_stats", loads, frozenset(DEFAULT_LOAD))
    scenario.manager = _manager(folder / "manager_status", scenario.nodes)
    scenario.fence = _text(folder / "fence.cfg")
    scenario.steps = _steps(folder / "cmdlist", scenario)
    return scenario


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from error


def _json(path: Path, default: Any) -> Any:
    text = _text(path)
    if not path.exists():
        return default
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: line {error.lineno} is not valid JSON ({error.msg})") from error


def _object(path: Path, default: Any) -> dict[str, Any]:
    data = _json(path, default)
    if not isinstance(data, dict):
        raise UserError(f"{path}: expected a JSON object")
    return data


def _check_keys(path: Path, name: str, values: Any, allowed: frozenset[str]) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise UserError(f"{path}: '{name}' must be an object")
    for key in values:
        if key not in allowed:
            raise UserError(f"{path}: '{name}' has the unknown key '{key}'; known are {', '.join(sorted(allowed))}")
    return values


def _number(path: Path, name: str, key: str, value: Any) -> int | float:
    """Returns a number, which may be written as text."""
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UserError(f"{path}: '{name}' has {key} = {value!r}; expected a number from 0 on")
    return value


def _flag(path: Path, name: str, key: str, value: Any) -> bool:
    if value in (0, 1, "0", "1"):
        return bool(int(value))
    raise UserError(f"{path}: '{name}' has {key} = {value!r}; allowed is 0 or 1")


def _nodes(path: Path) -> dict[str, dict[str, Any]]:
    nodes = {}
    for name, raw in _object(path, dict.fromkeys(DEFAULT_NODES, DEFAULT_NODE)).items():
        values = dict(_check_keys(path, name, raw, NODE_KEYS))
        for key in ("power", "network"):
            if values.setdefault(key, "off") not in {"on", "off"}:
                raise UserError(f"{path}: '{name}' has {key} = '{values[key]}'; allowed is on or off")
        for key in ("maxcpu", "maxmem"):
            if key in values:
                values[key] = _number(path, name, key, values[key])
        nodes[name] = values
    if not nodes:
        raise UserError(f"{path}: there is no node")
    return nodes


def _resources(path: Path, nodes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    default = {name: {"node": node} for name, node in DEFAULT_RESOURCES.items()}
    return {name: check_resource(path, name, raw, nodes) for name, raw in _object(path, default).items()}


def check_resource(path: Path, name: str, raw: Any, nodes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Returns a resource's configuration as events carry it, with every default filled in.

    Raises:
        UserError: the id, a key or a value is not allowed.
    """
    if not RESOURCE_ID.match(name):
        raise UserError(f"{path}: '{name}' is no resource id; expected vm:NUMBER, ct:NUMBER or fa:NUMBER")
    values = _check_keys(path, name, raw, RESOURCE_KEYS)
    node = values.get("node")
    if not isinstance(node, str) or node not in nodes:
        raise UserError(f"{path}: '{name}' is on the unknown node '{node}'; known are {', '.join(sorted(nodes))}")
    state = values.get("state", "disabled")
    if state not in REQUESTED_STATES:
        raise UserError(f"{path}: '{name}' has state = '{state}'; allowed are {', '.join(REQUESTED_STATES)}")
    return {
        "node": node,
        "state": "started" if state == "enabled" else state,
        "failback": _flag(path, name, "failback", values.get("failback", 1)),
        "max_restart": _number(path, name, "max_restart", values.get("max_restart", 1)),
        "max_relocate": _number(path, name, "max_relocate", values.get("max_relocate", 1)),
        "group": values.get("group"),
        "lock": values.get("lock"),
        "auto_rebalance": _flag(path, name, "auto-rebalance", values.get("auto-rebalance", 1)),
        "needs": {key: values[key] for key in sorted(NEED_KEYS & values.keys())},
    }


def _stats(path: Path, default: dict[str, dict[str, Any]], keys: frozenset[str]) -> dict[str, dict[str, Any]]:
    stats = {}
    for name, raw in _object(path, default).items():
        values = _check_keys(path, name, raw, keys)
        stats[name] = {key: _number(path, name, key, value) for key, value in values.items()}
    return stats


def _manager(path: Path, nodes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    status = _check_keys(path, "manager_status", _object(path, {}), MANAGER_KEYS)
    for part in ("node_status", "service_status", "node_request"):
        if not isinstance(status.get(part, {}), dict):
            raise UserError(f"{path}: '{part}' must be an object")
    for name, record in status.get("service_status", {}).items():
        if not isinstance(record, dict) or record.get("node") not in nodes:
            raise UserError(f"{path}: '{name}' is on an unknown node; known are {', '.join(sorted(nodes))}")
    return status


def _check_sections(folder: Path, scenario: Scenario) -> None:
    problems = [
        *parse_rules(scenario.rules, str(folder / "rules_config"))[1],
        *parse_groups(scenario.groups, str(folder / "groups"))[1],
    ]
    if problems:
        raise UserError(str(problems[0]))


def _steps(path: Path, scenario: Scenario) -> list[list[str]]:
    steps = _json(path, [[f"power {node} on" for node in sorted(scenario.nodes)]])
    if not isinstance(steps, list) or not all(isinstance(step, list) for step in steps):
        raise UserError(f"{path}: expected a list of steps, each a list of commands")
    for step in steps:
        for command in step:
            if not isinstance(command, str):
                raise UserError(f"{path}: a command must be a text, not {command!r}")
            check_step(command, scenario.nodes, str(path))
    return steps
