"""The report on fence devices: what would be run in each attempt to cut a node off, and what is probably a mistake."""

from collections.abc import Sequence

from haes.fencing.devices import FenceConfig, commands_for
from haes.fencing.parse import Fault, error_report


def fence_report(config: FenceConfig, faults: Sequence[Fault], file: str, nodes: Sequence[str]) -> str:
    """Returns what devices come to in a cluster of these nodes.

    Args:
        config: the devices.
        faults: what was wrong with their file.
        file: its name, for the report.
        nodes: the nodes of the cluster.

    Returns:
        The errors alone when there are any; else all attempts, up to the first one that has nothing left for any node.
    """
    errors = error_report(file, faults)
    if errors:
        return f"[FenceConfig] {errors}"
    return "\n".join(_attempts(config, nodes)) + "\n"


def _attempts(config: FenceConfig, nodes: Sequence[str]) -> list[str]:
    lines = []
    attempt, left = 0, True
    while left:
        left = False
        lines.append(f"[try] {attempt}")
        for node in nodes:
            commands = commands_for(node, attempt, config)
            left = left or bool(commands)
            lines += [f"[{node}-cmd] {text}" for text in [command.text() for command in commands] or ["none"]]
        attempt += 1
    return lines


def doubts(config: FenceConfig, nodes: Sequence[str]) -> list[str]:
    """Returns what is probably a mistake: nodes that are connected but unknown, and nodes that nothing can cut off."""
    connected = {node for parts in config.devices.values() for part in parts.values() for node in part.nodes}
    known = ", ".join(nodes)
    return [
        *(
            f"{node}: is connected, but is not a node of this cluster; known are {known}"
            for node in sorted(connected - set(nodes))
        ),
        *(f"{node}: no device is connected to it" for node in nodes if node not in connected),
    ]
