"""Which rules cannot hold, and what follows from those that can: findings as data, and the completed set of rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from haes.rules.model import NodeAffinityRule, ResourceAffinityRule, RuleSet
from haes.rules.sets import join_overlapping


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a rule is left out: the property to blame, a code, and what the text needs."""

    rule: str
    option: str
    code: str
    details: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Sorted:
    """Active rules by kind."""

    node_affinity: dict[str, NodeAffinityRule]
    resource_affinity: dict[str, ResourceAffinityRule]
    positive: dict[str, ResourceAffinityRule]
    negative: dict[str, ResourceAffinityRule]


def _sort(rules: RuleSet) -> _Sorted:
    result = _Sorted({}, {}, {}, {})
    for name in sorted(rules.rules):
        rule = rules.rules[name]
        if rule.disabled:
            continue
        if isinstance(rule, NodeAffinityRule):
            result.node_affinity[name] = rule
        else:
            result.resource_affinity[name] = rule
            (result.positive if rule.affinity == "positive" else result.negative)[name] = rule
    return result


def _found(conflicts: list[tuple[str, str]], codes: dict[str, str]) -> list[Finding]:
    return [Finding(name, "resources", codes[kind]) for kind, name in sorted(conflicts)]


def _one_node_rule_per_resource(kinds: _Sorted, _nodes: Sequence[str]) -> list[Finding]:
    users: dict[str, list[str]] = {}
    for name, rule in kinds.node_affinity.items():
        for resource in rule.resources:
            users.setdefault(resource, []).append(name)
    conflicts = sorted((name, resource) for resource, names in users.items() if len(names) > 1 for name in names)
    return [Finding(name, "resources", "resource_used_twice", {"resource": resource}) for name, resource in conflicts]


def _two_resources(kinds: _Sorted, _nodes: Sequence[str]) -> list[Finding]:
    return [
        Finding(name, "resources", "too_few_resources")
        for name, rule in kinds.resource_affinity.items()
        if len(rule.resources) < 2  # noqa: PLR2004 - affinity is between two
    ]


def _enough_nodes(kinds: _Sorted, nodes: Sequence[str]) -> list[Finding]:
    return [
        Finding(name, "resources", "too_few_nodes")
        for name, rule in kinds.negative.items()
        if len(rule.resources) > len(nodes)
    ]


def _together_or_apart(kinds: _Sorted, _nodes: Sequence[str]) -> list[Finding]:
    conflicts = []
    for group in join_overlapping(kinds.positive):
        for name, rule in kinds.negative.items():
            if len(group.resources & rule.resources) > 1:
                conflicts.append(("negative", name))
                conflicts += [("positive", other) for other in group.rules]
    return _found(conflicts, {"positive": "shares_with_negative", "negative": "shares_with_positive"})


def _one_priority(kinds: _Sorted, _nodes: Sequence[str]) -> list[Finding]:
    conflicts = []
    for name, rule in kinds.resource_affinity.items():
        paired = [other for other, node_rule in kinds.node_affinity.items() if node_rule.resources & rule.resources]
        if any(len(set(kinds.node_affinity[other].nodes.values())) > 1 for other in paired):
            conflicts.append(("resource-affinity", name))
            conflicts += [("node-affinity", other) for other in paired]
    return _found(
        conflicts, {"node-affinity": "several_priorities", "resource-affinity": "in_rules_with_several_priorities"}
    )


def _one_node_rule_per_bundle(kinds: _Sorted, _nodes: Sequence[str]) -> list[Finding]:
    conflicts = []
    for group in join_overlapping(kinds.positive):
        paired = [other for other, rule in kinds.node_affinity.items() if rule.resources & group.resources]
        if len(paired) > 1:
            conflicts += [("positive", name) for name in group.rules]
            conflicts += [("node-affinity", other) for other in paired]
    return _found(conflicts, {"positive": "in_several_node_rules", "node-affinity": "bundle_in_other_node_rule"})


def _room_to_spread(kinds: _Sorted, _nodes: Sequence[str]) -> list[Finding]:
    conflicts = []
    for name, rule in kinds.negative.items():
        allowed: set[str] = set()
        located: set[str] = set()
        paired = []
        for other, node_rule in kinds.node_affinity.items():
            common = rule.resources & node_rule.resources
            if common:
                located |= common
                allowed |= node_rule.nodes.keys()
                paired.append(other)
        if len(allowed) < len(located):
            conflicts.append(("negative", name))
            conflicts += [("node-affinity", other) for other in paired]
    return _found(conflicts, {"negative": "restricted_to_too_few", "node-affinity": "restricts_to_too_few"})


_CHECKS: tuple[Callable[[_Sorted, Sequence[str]], list[Finding]], ...] = (
    _one_node_rule_per_resource,
    _two_resources,
    _enough_nodes,
    _together_or_apart,
    _one_priority,
    _one_node_rule_per_bundle,
    _room_to_spread,
)


def transform(rules: RuleSet, nodes: Sequence[str]) -> list[Finding]:
    """Takes the rules that cannot hold out of a set and adds what follows from the others; returns why, by rule."""
    kinds = _sort(rules)
    found = [finding for check in _CHECKS for finding in check(kinds, nodes)]
    for finding in found:
        rules.rules.pop(finding.rule, None)
        rules.order.pop(finding.rule, None)
    found.sort(key=lambda finding: (finding.rule, finding.option))
    _merge_positive(rules)
    _spread_negative(rules)
    _spread_node_affinity(rules)
    return found


def _merge_positive(rules: RuleSet) -> None:
    for group in join_overlapping(_sort(rules).positive):
        if len(group.rules) < 2:  # noqa: PLR2004 - one rule alone is merged already
            continue
        merged = "_merged-" + "-".join(group.rules)
        place = rules.order[group.rules[0]]
        for name in group.rules:
            del rules.rules[name]
            del rules.order[name]
        rules.rules[merged] = ResourceAffinityRule(group.resources, "positive")
        rules.order[merged] = place


def _spread_negative(rules: RuleSet) -> None:
    kinds = _sort(rules)
    for name, rule in kinds.positive.items():
        apart: dict[str, set[str]] = {}
        for negative in kinds.negative.values():
            for resource in rule.resources & negative.resources:
                for other in negative.resources - {resource}:
                    apart.setdefault(other, set()).add(resource)
        for other in sorted(apart):
            for resource in sorted(rule.resources - apart[other]):
                implied = f"_implicit-negative-{name}-{resource}-{other}"
                place = rules.next_order()
                rules.rules[implied] = ResourceAffinityRule({resource, other}, "negative")
                rules.order[implied] = place


def _spread_node_affinity(rules: RuleSet) -> None:
    kinds = _sort(rules)
    for rule in kinds.positive.values():
        for node_rule in kinds.node_affinity.values():
            if node_rule.resources & rule.resources:
                node_rule.resources |= rule.resources
                break
