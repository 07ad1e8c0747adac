"""The file of fence devices, read line by line; knows neither the cluster's nodes nor how commands are run.

A line is `device NAME[:PART] AGENT ARGUMENT...` or `connect NAME[:PART] node=NODE ARGUMENT...`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from haes.fencing.devices import FenceConfig, Part
from haes.fencing.words import split_words

_LINE = re.compile(r"(device|connect)\s+(\S+)\s+(\S+)\s+(\S.*)", re.ASCII)
_DEVICE = re.compile(r"(.+?)(?::(\d{1,9}))?", re.ASCII)
_NODE = re.compile(r"node=([\w.-]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a line; a grave fault makes the whole file useless, otherwise the line is ignored."""

    line: int
    text: str
    grave: bool = True

    def __str__(self) -> str:
        """Says it in one line."""
        return f"line {self.line}: {self.text}"


@dataclass(slots=True)
class _Reading:
    """Parts of the devices read so far, and whom they are connected to."""

    devices: dict[str, dict[int, Part]] = field(default_factory=dict)
    nodes: dict[tuple[str, int], dict[str, tuple[str, ...]]] = field(default_factory=dict)


def parse_fence_config(text: str) -> tuple[FenceConfig, list[Fault]]:
    """Reads fence devices.

    Args:
        text: what the file holds.

    Returns:
        The devices and what is wrong, in the order of lines. With a grave fault there is no device at all: nobody knows
        whether the rest of such a file cuts off the right node.
    """
    reading, faults = _Reading(), []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            faults.append(Fault(number, f"is ignored, being neither a device nor a connection: {line}", grave=False))
            continue
        try:
            _take(reading, *match.groups())
        except ValueError as error:
            faults.append(Fault(number, str(error)))
    if any(fault.grave for fault in faults):
        return FenceConfig(), faults
    return FenceConfig(reading.devices), faults


def error_report(file: str, faults: Sequence[Fault]) -> str:
    """Returns the grave faults of a file as people are told them; empty when there is none."""
    lines = [str(fault) for fault in faults if fault.grave]
    return "\n".join([f"Encountered error(s) on parsing '{file}':", *lines]) + "\n" if lines else ""


def _take(reading: _Reading, command: str, device: str, target: str, rest: str) -> None:
    """Takes one line; raises ValueError with what is wrong."""
    match = _DEVICE.fullmatch(device)
    name = match[1] if match else device
    # A device without a number is its own first part.
    number = int(match[2] or 0) if match else 0
    place = (name, number or 1)
    if command == "device":
        _declare(reading, place, target, rest)
    else:
        _connect(reading, place, target, rest)


def _declare(reading: _Reading, place: tuple[str, int], agent: str, rest: str) -> None:
    name, number = place
    if number in reading.devices.get(name, {}):
        raise ValueError(f"device '{name}:{number}' already declared")
    parameters = split_words(rest)
    nodes = reading.nodes.setdefault(place, {})
    reading.devices.setdefault(name, {})[number] = Part(agent, parameters, nodes)


def _connect(reading: _Reading, place: tuple[str, int], target: str, rest: str) -> None:
    name, number = place
    if name not in reading.devices:
        raise ValueError(f"device '{name}' must be declared before you can connect to it")
    if number not in reading.devices[name]:
        raise ValueError(f"No parallel device '{name}:{number}' found")
    match = _NODE.fullmatch(target)
    if match is None:
        raise ValueError(f"node=nodename needed to connect device '{name}' to node")
    nodes = reading.nodes[place]
    if match[1] in nodes:
        raise ValueError(f"node '{match[1]}' already connected to device '{name}:{number}'")
    nodes[match[1]] = split_words(rest)
