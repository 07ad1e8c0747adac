"""Old-style groups: read, and what they say as rules."""

from collections.abc import Mapping
from dataclasses import dataclass

from haes.rules.model import NodeAffinityRule, RuleSet
from haes.rules.section_config import Key, Problem, parse_sections
from haes.rules.values import read_flag, read_nodes, read_plain_comment

_SCHEMA = {
    "group": {
        "nodes": Key(read_nodes, required=True),
        "restricted": Key(read_flag),
        "nofailback": Key(read_flag),
        "comment": Key(read_plain_comment),
    }
}


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that resources of the group prefer, or must use when it is restricted.

    Attributes:
        nodes: node -> priority from 0 on; a higher one is preferred.
        restricted: whether no other node may be used; None where the group does not say, which means no.
        nofailback: whether resources stay where they are when a better node comes back.
        comment: for people.
    """

    nodes: Mapping[str, int]
    restricted: bool | None = None
    nofailback: bool = False
    comment: str | None = None


def parse_groups(text: str, file: str) -> tuple[dict[str, Group], list[Problem]]:
    """Reads groups.

    Args:
        text: what the file holds.
        file: its name, for the problems.

    Returns:
        Id -> group, for those that can be used; and what was left out.
    """
    sections, problems = parse_sections(text, file, _SCHEMA)
    groups: dict[str, Group] = {}
    for section in sections:
        groups.pop(section.id, None)
        if not section.missing:
            groups[section.id] = Group(**section.values)
    return groups, problems


def failback_from_groups(groups: Mapping[str, Group], group_of: Mapping[str, str]) -> dict[str, bool]:
    """Returns for each resource in a group whether it fails back; in a group that does not exist, it does."""
    return {resource: group not in groups or not groups[group].nofailback for resource, group in group_of.items()}


def rules_from_groups(rules: RuleSet, groups: Mapping[str, Group], group_of: Mapping[str, str]) -> RuleSet:
    """Adds to the rules what the groups say.

    Args:
        rules: the rules, which are changed.
        groups: id -> group.
        group_of: resource -> id of its group; groups that do not exist or are not used make no rule.

    Returns:
        The rules.
    """
    for name in sorted(set(group_of.values()) & groups.keys()):
        group = groups[name]
        rule = NodeAffinityRule(
            frozenset(resource for resource, other in group_of.items() if other == name),
            dict(group.nodes),
            group.restricted,
            comment=group.comment or f"Generated from HA group '{name}'.",
        )
        rules.add(f"ha-group-{name}", rule, rules.next_order())
    return rules
