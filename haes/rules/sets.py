"""Sets of rules that share resources, joined; knows no check."""

from collections.abc import Mapping
from dataclasses import dataclass

from haes.rules.model import Rule


@dataclass(slots=True)
class Joined:
    """Rules that hang together through resources, and all their resources."""

    rules: list[str]
    resources: set[str]


def join_overlapping(rules: Mapping[str, Rule]) -> list[Joined]:
    """Groups rules by overlap, those with the lowest resource first; each joins the first group that it overlaps."""
    joined: list[Joined] = []
    for name in sorted(rules, key=lambda name: (min(rules[name].resources, default=""), name)):
        resources = rules[name].resources
        group = next((group for group in joined if group.resources & resources), None)
        if group is None:
            joined.append(Joined([name], set(resources)))
        else:
            group.rules.append(name)
            group.resources |= resources
    return joined
