"""Rules in the form in which they are asked: by resource."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from haes.rules.model import NodeAffinityRule, RuleSet

# The priority of nodes that a non-strict rule does not name: below all that it names.
UNNAMED_PRIORITY = -1


@dataclass(slots=True)
class CompiledRules:
    """What rules say about each resource: node -> priority; those to be with; those to be away from."""

    node_affinity: dict[str, dict[str, int]] = field(default_factory=dict)
    together: dict[str, frozenset[str]] = field(default_factory=dict)
    separate: dict[str, frozenset[str]] = field(default_factory=dict)

    def preferred_nodes(self, resource: str, online: AbstractSet[str]) -> tuple[AbstractSet[str], AbstractSet[str]]:
        """Returns the online nodes that a resource may use, and those of the highest priority among them."""
        priorities = self.node_affinity.get(resource)
        if priorities is None:
            return online, online
        allowed = {node for node in priorities if node in online}
        if not allowed:
            return allowed, allowed
        highest = max(priorities[node] for node in allowed)
        return allowed, {node for node in allowed if priorities[node] == highest}


def compile_rules(rules: RuleSet, nodes: Sequence[str]) -> CompiledRules:
    """Returns the rules by resource, for a cluster of these nodes."""
    compiled = CompiledRules()
    for name in sorted(rules.rules):
        rule = rules.rules[name]
        if rule.disabled:
            continue
        if isinstance(rule, NodeAffinityRule):
            priorities = dict(rule.nodes)
            if not rule.strict:
                priorities = dict.fromkeys(nodes, UNNAMED_PRIORITY) | priorities
            compiled.node_affinity.update(dict.fromkeys(rule.resources, priorities))
        else:
            relation = compiled.together if rule.affinity == "positive" else compiled.separate
            for resource in rule.resources:
                relation[resource] = relation.get(resource, frozenset()) | (rule.resources - {resource})
    return compiled
