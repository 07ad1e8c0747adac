"""The commands of a simulation's command list: their forms, checked before anything runs."""

import re
from collections.abc import Collection

from events.errors import UserError

_RESOURCE = r"(?P<resource>[a-z]+:\S+)"
_NODE = r"(?P<node>\S+)"
_NUMBER = r"-?\d+(?:\.\d+)?"

# Every form of a command, by name.
FORMS: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"^{form}\s*$")
    for name, form in {
        "delay": r"delay\s+(?P<seconds>\d+)",
        "skip-round": r"skip-round\s+(?P<part>lrm|crm)(?:\s+(?P<rounds>\d+))?",
        "power": rf"power\s+{_NODE}\s+(?P<value>on|off)",
        "network": rf"network\s+{_NODE}\s+(?P<value>on|off)",
        "cfs": rf"cfs\s+{_NODE}\s+(?P<what>rw|update)\s+(?P<value>work|fail)",
        "version": rf"pve-manager-version\s+{_NODE}\s+set\s+(?P<value>\S+)",
        "go": rf"(?P<how>reboot|shutdown)\s+{_NODE}",
        "restart-lrm": rf"restart-lrm\s+{_NODE}",
        "crm-process": rf"crm\s+{_NODE}\s+(?P<value>stop|start)",
        "maintenance": rf"crm\s+{_NODE}\s+(?P<verb>(?:en|dis)able-node-maintenance)",
        "disarm": rf"crm\s+{_NODE}\s+disarm-ha\s+(?P<mode>freeze|ignore)",
        "arm": rf"crm\s+{_NODE}\s+arm-ha",
        "state": rf"service\s+{_RESOURCE}\s+(?P<value>started|disabled|stopped|ignored)",
        "motion": rf"service\s+{_RESOURCE}\s+(?P<verb>migrate|relocate)\s+{_NODE}",
        "stop": rf"service\s+{_RESOURCE}\s+stop\s+(?P<timeout>\d+)",
        "add": rf"service\s+{_RESOURCE}\s+add\s+{_NODE}(?:\s+(?P<value>\S+)(?:\s+(?P<running>\d+))?)?",
        "delete": rf"service\s+{_RESOURCE}\s+delete",
        "lock": rf"service\s+{_RESOURCE}\s+lock(?:\s+(?P<value>\S+))?",
        "unlock": rf"service\s+{_RESOURCE}\s+unlock(?:\s+(?P<value>\S+))?",
        "manual-migrate": rf"service\s+{_RESOURCE}\s+manual-migrate\s+{_NODE}",
        "static-stats": rf"service\s+{_RESOURCE}\s+set-static-stats(?P<values>(?:\s+(?:maxcpu|maxmem)\s+{_NUMBER})+)",
        "dynamic-stats": rf"service\s+{_RESOURCE}\s+set-dynamic-stats(?P<values>(?:\s+(?:cpu|mem)\s+{_NUMBER})+)",
    }.items()
}
# The node in these forms is asked for, not given: a target that does not exist is the manager's to reject.
_TARGETS = frozenset({"motion"})


def parse_step(command: str) -> tuple[str, dict[str, str]] | None:
    """Returns the form of a command and its parts, or None when it has none; parts that were left out are empty."""
    for name, form in FORMS.items():
        match = form.match(command)
        if match:
            return name, {part: value or "" for part, value in match.groupdict().items()}
    return None


def check_step(command: str, nodes: Collection[str], origin: str) -> None:
    """Checks a command before the simulation begins.

    Raises:
        UserError: the command is unknown, incomplete, or names a node that does not exist.
    """
    parsed = parse_step(command)
    if parsed is None:
        verb = command.split(" ", 1)[0]
        raise UserError(f"{origin}: cannot understand the command '{command}' ({verb} is unknown or incomplete)")
    name, parts = parsed
    node = parts.get("node")
    if node is not None and name not in _TARGETS and node not in nodes:
        raise UserError(
            f"{origin}: the command '{command}' names the unknown node '{node}'; known are {', '.join(sorted(nodes))}"
        )
