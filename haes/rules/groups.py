"""Old-style groups: read, and what they say as rules."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from haes.rules.model import NodeAffinityRule, RuleSet
from haes.rules.section_config import Problem, parse_sections, split_list

_NODE = re.compile(r"^([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?::(\d+))?$")
_KEYS = {"nodes", "restricted", "nofailback", "comment"}
_TRUE = {"1", "on", "yes", "true"}


@dataclass(slots=True)
class Group:
    """Nodes with priorities that resources of the group prefer, or must use when it is restricted."""

    nodes: dict[str, int]
    restricted: bool = False
    nofailback: bool = False
    comment: str | None = None


def parse_groups(text: str, file: str) -> tuple[dict[str, Group], list[Problem]]:
    """Returns the groups of a configuration, and what was left out of it."""
    sections, problems = parse_sections(text, file)
    groups = {}
    for section in sections:
        values = section.properties
        if section.type != "group" or "nodes" not in values:
            problems.append(Problem(file, section.line, section.id, "is no group with nodes"))
            continue
        for key in sorted(values.keys() - _KEYS):
            problems.append(Problem(file, section.lines[key], key, "is unknown in a group"))
        nodes = {}
        for entry in split_list(values["nodes"]):
            match = _NODE.match(entry)
            if match:
                nodes[match[1]] = int(match[2] or 0)
            else:
                problems.append(Problem(file, section.lines["nodes"], entry, "is no node"))
        groups[section.id] = Group(
            nodes,
            values.get("restricted", "").lower() in _TRUE,
            values.get("nofailback", "").lower() in _TRUE,
            values.get("comment"),
        )
    return groups, problems


def failback_from_groups(groups: Mapping[str, Group], group_of: Mapping[str, str]) -> dict[str, bool]:
    """Returns for each resource in a group whether it fails back."""
    return {resource: group not in groups or not groups[group].nofailback for resource, group in group_of.items()}


def rules_from_groups(rules: RuleSet, groups: Mapping[str, Group], group_of: Mapping[str, str]) -> RuleSet:
    """Adds to the rules what the groups say, and returns them."""
    for name in sorted(set(group_of.values())):
        group = groups.get(name)
        if group is None:
            continue
        rule = f"ha-group-{name}"
        place = rules.next_order()
        rules.rules[rule] = NodeAffinityRule(
            {resource for resource, other in group_of.items() if other == name},
            dict(group.nodes),
            group.restricted,
            comment=group.comment or f"Generated from HA group '{name}'.",
        )
        rules.order[rule] = place
    return rules
