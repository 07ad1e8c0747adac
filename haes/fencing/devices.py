"""Fence devices, the nodes they are connected to, and the commands that cut a node off; knows no file format.

A device may have several parts that work in parallel, such as the power lines of a host with two supplies: all of them
act in one attempt. Devices are tried one after the other, in the order in which they were declared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from haes.fencing.words import quote_word


@dataclass(frozen=True, slots=True)
class Command:
    """One call of a fence agent.

    Attributes:
        agent: the program.
        part: number of the device's part, from 1.
        parameters: `key=value` or `key`, those of the device before those of the node.
    """

    agent: str
    part: int
    parameters: tuple[str, ...]

    def arguments(self) -> list[str]:
        """Returns the arguments for a call without a shell: `--key=value`, or `-k`, `value` for a key of one letter."""
        result = []
        for key, value in map(_key_and_value, self.parameters):
            if len(key) == 1:
                result += [f"-{key}"] if value is None else [f"-{key}", value]
            else:
                result.append(f"--{key}" if value is None else f"--{key}={value}")
        return result

    def text(self) -> str:
        """Returns the command as one would type it."""
        words = [self.agent]
        for key, value in map(_key_and_value, self.parameters):
            short = len(key) == 1
            option = f"-{key}" if short else f"--{key}"
            words.append(option if value is None else f"{option}{' ' if short else '='}{quote_word(value)}")
        return " ".join(words)


def _key_and_value(parameter: str) -> tuple[str, str | None]:
    """A value may hold further equals signs, as passwords do; an empty one counts as none."""
    key, _, value = parameter.partition("=")
    return key, value or None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a device.

    Attributes:
        agent: the program that drives it.
        parameters: what the program is told in any case.
        nodes: node -> what the program is told about it.
    """

    agent: str
    parameters: tuple[str, ...]
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FenceConfig:
    """All devices: name -> number of a part -> part, devices in the order in which they are tried."""

    devices: Mapping[str, Mapping[int, Part]] = field(default_factory=dict)


def commands_for(node: str, attempt: int, config: FenceConfig) -> list[Command]:
    """Returns the commands to run at once in order to cut a node off.

    Args:
        node: the node.
        attempt: how many attempts have failed, from 0.
        config: the devices.

    Returns:
        A command for each part of the device whose turn it is; none when no device is left.
    """
    found = [commands for parts in config.devices.values() if (commands := _commands(node, parts))]
    attempt = max(attempt, 0)
    return found[attempt] if attempt < len(found) else []


def _commands(node: str, parts: Mapping[int, Part]) -> list[Command]:
    return [
        Command(part.agent, number, part.parameters + part.nodes[node])
        for number, part in sorted(parts.items())
        if node in part.nodes
    ]


def count_devices(node: str, config: FenceConfig) -> int:
    """Returns how many devices can cut a node off, which is how many attempts there are."""
    return sum(any(node in part.nodes for part in parts.values()) for parts in config.devices.values())
