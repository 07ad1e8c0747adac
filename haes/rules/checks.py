"""Which rules cannot hold, alone or beside others: findings as data; knows no text and no file format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from haes.rules.active import ActiveRules, sort_active
from haes.rules.implied import complete
from haes.rules.model import RuleSet
from haes.rules.sets import join_overlapping


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a rule is left out.

    Attributes:
        rule: id of the rule.
        option: the property to blame.
        code: the reason, a key of the table of texts.
        details: what the text needs beside the code.
    """

    rule: str
    option: str
    code: str
    details: dict[str, str] = field(default_factory=dict)


def _found(conflicts: list[tuple[str, str]], codes: dict[str, str]) -> list[Finding]:
    return [Finding(name, "resources", codes[kind]) for kind, name in sorted(conflicts)]


def _one_node_rule_per_resource(active: ActiveRules, _nodes: Sequence[str]) -> list[Finding]:
    users: dict[str, list[str]] = {}
    for name, rule in active.node_affinity.items():
        for resource in rule.resources:
            users.setdefault(resource, []).append(name)
    conflicts = sorted((name, resource) for resource, names in users.items() if len(names) > 1 for name in names)
    return [Finding(name, "resources", "resource_used_twice", {"resource": resource}) for name, resource in conflicts]


def _two_resources(active: ActiveRules, _nodes: Sequence[str]) -> list[Finding]:
    return [
        Finding(name, "resources", "too_few_resources")
        for name, rule in active.resource_affinity.items()
        if len(rule.resources) < 2  # noqa: PLR2004 - affinity is between two
    ]


def _enough_nodes(active: ActiveRules, nodes: Sequence[str]) -> list[Finding]:
    return [
        Finding(name, "resources", "too_few_nodes")
        for name, rule in active.negative.items()
        if len(rule.resources) > len(nodes)
    ]


def _together_or_apart(active: ActiveRules, _nodes: Sequence[str]) -> list[Finding]:
    conflicts = []
    for group in join_overlapping(active.positive):
        for name, rule in active.negative.items():
            if len(group.resources & rule.resources) > 1:
                conflicts.append(("negative", name))
                conflicts += [("positive", other) for other in group.rules]
    return _found(conflicts, {"positive": "shares_with_negative", "negative": "shares_with_positive"})


def _one_priority(active: ActiveRules, _nodes: Sequence[str]) -> list[Finding]:
    conflicts = []
    for name, rule in active.resource_affinity.items():
        paired = [other for other, node_rule in active.node_affinity.items() if node_rule.resources & rule.resources]
        if any(len(set(active.node_affinity[other].nodes.values())) > 1 for other in paired):
            conflicts.append(("resource-affinity", name))
            conflicts += [("node-affinity", other) for other in paired]
    return _found(
        conflicts, {"node-affinity": "several_priorities", "resource-affinity": "in_rules_with_several_priorities"}
    )


def _one_node_rule_per_bundle(active: ActiveRules, _nodes: Sequence[str]) -> list[Finding]:
    conflicts = []
    for group in join_overlapping(active.positive):
        paired = [other for other, rule in active.node_affinity.items() if rule.resources & group.resources]
        if len(paired) > 1:
            conflicts += [("positive", name) for name in group.rules]
            conflicts += [("node-affinity", other) for other in paired]
    return _found(conflicts, {"positive": "in_several_node_rules", "node-affinity": "bundle_in_other_node_rule"})


def _room_to_spread(active: ActiveRules, _nodes: Sequence[str]) -> list[Finding]:
    conflicts = []
    for name, rule in active.negative.items():
        allowed: set[str] = set()
        located: set[str] = set()
        paired = []
        for other, node_rule in active.node_affinity.items():
            common = rule.resources & node_rule.resources
            if common:
                located |= common
                allowed |= node_rule.nodes.keys()
                paired.append(other)
        if len(allowed) < len(located):
            conflicts.append(("negative", name))
            conflicts += [("node-affinity", other) for other in paired]
    return _found(conflicts, {"negative": "restricted_to_too_few", "node-affinity": "restricts_to_too_few"})


# In the order in which their findings about one rule are told.
_CHECKS: tuple[Callable[[ActiveRules, Sequence[str]], list[Finding]], ...] = (
    _one_node_rule_per_resource,
    _two_resources,
    _enough_nodes,
    _together_or_apart,
    _one_priority,
    _one_node_rule_per_bundle,
    _room_to_spread,
)


def find_conflicts(rules: RuleSet, nodes: Sequence[str]) -> list[Finding]:
    """Returns why rules cannot hold in a cluster of these nodes, by rule and property; a reason may stand twice."""
    active = sort_active(rules)
    found = [finding for check in _CHECKS for finding in check(active, nodes)]
    return sorted(found, key=lambda finding: (finding.rule, finding.option))


def transform(rules: RuleSet, nodes: Sequence[str]) -> list[Finding]:
    """Takes the rules that cannot hold out of a set and adds what follows from the others.

    Args:
        rules: the set, which is changed.
        nodes: the nodes of the cluster.

    Returns:
        Why rules were taken out, by rule and property; a reason may stand twice.
    """
    found = find_conflicts(rules, nodes)
    for finding in found:
        rules.drop(finding.rule)
    complete(rules)
    return found
