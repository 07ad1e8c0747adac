"""Rules that share resources, joined; knows no check."""

from collections.abc import Mapping
from dataclasses import dataclass

from haes.rules.model import Rule


@dataclass(slots=True)
class Joined:
    """Rules that hang together through resources, and all their resources."""

    rules: list[str]
    resources: set[str]


def join_overlapping(rules: Mapping[str, Rule]) -> list[Joined]:
    """Groups rules by overlap.

    Rules are taken by their lowest resource and each joins the first group that it overlaps. A rule that overlaps two
    groups does not make one of them: names of merged rules and messages, on which people and tools match, follow from
    exactly this grouping.
    """
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
