"""Fence devices as text that reads back as the same devices; knows neither what is run nor why."""

from collections.abc import Mapping, Sequence

from haes.fencing.devices import FenceConfig, Part
from haes.fencing.parse import parse_fence_config
from haes.fencing.words import write_word


def write_fence_config(config: FenceConfig) -> str:
    """Returns devices in the order in which they are tried, a paragraph for each part.

    Raises:
        ValueError: a file cannot say that, such as blanks in a name, no parameters, or the end of a line in one.
    """
    return "\n".join(_device(name, parts) for name, parts in config.devices.items())


def _device(name: str, parts: Mapping[int, Part]) -> str:
    text = "\n".join(_part(f"{name}:{number}", part) for number, part in sorted(parts.items()))
    # What reads as something else could cut off another node, and reading is the only judge of that.
    if parse_fence_config(text) != (FenceConfig({name: parts}), []):
        raise ValueError(f"device '{name}' cannot be written so that it reads back as the same")
    return text


def _part(place: str, part: Part) -> str:
    connections = [_line("connect", place, f"node={node}", part.nodes[node]) for node in sorted(part.nodes)]
    return "".join([_line("device", place, part.agent, part.parameters), *connections])


def _line(command: str, place: str, target: str, parameters: Sequence[str]) -> str:
    return f"{' '.join([command, place, target, *map(write_word, parameters)])}\n"
