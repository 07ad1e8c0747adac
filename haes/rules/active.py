"""The rules of a set that have an effect, by kind; knows no check."""

from dataclasses import dataclass, field

from haes.rules.model import NodeAffinityRule, ResourceAffinityRule, RuleSet


@dataclass(slots=True)
class ActiveRules:
    """Rules that are not disabled: each kind in the order of ids; `resource_affinity` holds both of its kinds."""

    node_affinity: dict[str, NodeAffinityRule] = field(default_factory=dict)
    resource_affinity: dict[str, ResourceAffinityRule] = field(default_factory=dict)
    positive: dict[str, ResourceAffinityRule] = field(default_factory=dict)
    negative: dict[str, ResourceAffinityRule] = field(default_factory=dict)


def sort_active(rules: RuleSet) -> ActiveRules:
    """Returns the rules that are not disabled, by kind."""
    result = ActiveRules()
    for name, rule in sorted(rules.rules.items()):
        if rule.disabled:
            continue
        if isinstance(rule, NodeAffinityRule):
            result.node_affinity[name] = rule
        else:
            result.resource_affinity[name] = rule
            (result.positive if rule.affinity == "positive" else result.negative)[name] = rule
    return result
