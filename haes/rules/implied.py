"""What follows from rules that can hold, written out as rules; knows nothing of rules that cannot.

Written out once here, so that placing a resource needs no more than one look-up.
"""

from dataclasses import replace

from haes.rules.active import sort_active
from haes.rules.model import NodeAffinityRule, ResourceAffinityRule, RuleSet
from haes.rules.sets import join_overlapping


def complete(rules: RuleSet) -> None:
    """Adds to a set what follows from its rules; each step builds on the one before."""
    _merge_positive(rules)
    _spread_negative(rules)
    _spread_node_affinity(rules)


def _merge_positive(rules: RuleSet) -> None:
    """Resources that rules keep together by way of others are kept together by one rule."""
    for group in join_overlapping(sort_active(rules).positive):
        if len(group.rules) > 1:
            place = rules.order[group.rules[0]]
            for name in group.rules:
                rules.drop(name)
            merged = ResourceAffinityRule(frozenset(group.resources), "positive")
            rules.add("_merged-" + "-".join(group.rules), merged, place)


def _spread_negative(rules: RuleSet) -> None:
    """Whatever one resource must be apart from, all that it must be together with are apart from, too."""
    active = sort_active(rules)
    for name, rule in active.positive.items():
        # Other resource -> those of the rule that are kept apart from it already.
        apart: dict[str, set[str]] = {}
        for negative in active.negative.values():
            for resource in rule.resources & negative.resources:
                for other in negative.resources - {resource}:
                    apart.setdefault(other, set()).add(resource)
        for other in sorted(apart):
            for resource in sorted(rule.resources - apart[other]):
                implied = ResourceAffinityRule(frozenset({resource, other}), "negative")
                rules.add(f"_implicit-negative-{name}-{resource}-{other}", implied, rules.next_order())


def _spread_node_affinity(rules: RuleSet) -> None:
    """What one resource says of nodes holds for all that it must be together with; there is at most one such rule."""
    active = sort_active(rules)
    for rule in active.positive.values():
        for name in active.node_affinity:
            node_rule = rules.rules[name]
            if isinstance(node_rule, NodeAffinityRule) and node_rule.resources & rule.resources:
                rules.rules[name] = replace(node_rule, resources=node_rule.resources | rule.resources)
                break
