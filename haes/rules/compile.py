"""Rules in the form in which they are asked: by resource. Knows neither what rules conflict nor what runs where."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from haes.rules.model import NodeAffinityRule, RuleSet

# The priority of nodes that a non-strict rule does not name: below all that it names.
UNNAMED_PRIORITY = -1


@dataclass(slots=True)
class CompiledRules:
    """What rules say about each resource; resources that no rule names are not in it.

    Attributes:
        node_affinity: resource -> node -> priority, for all nodes that the resource may use.
        together: resource -> those that it must be on one node with.
        separate: resource -> those that it must not be on one node with.
    """

    node_affinity: dict[str, Mapping[str, int]] = field(default_factory=dict)
    together: dict[str, frozenset[str]] = field(default_factory=dict)
    separate: dict[str, frozenset[str]] = field(default_factory=dict)

    def preferred_nodes(self, resource: str, online: AbstractSet[str]) -> tuple[AbstractSet[str], AbstractSet[str]]:
        """Returns the online nodes that a resource may use, and those of the highest priority among them.

        Both are the very set that was given when no rule names the resource, and empty when no node is left.
        """
        priorities = self.node_affinity.get(resource)
        if priorities is None:
            return online, online
        allowed = priorities.keys() & online
        if not allowed:
            return allowed, allowed
        highest = max(priorities[node] for node in allowed)
        return allowed, {node for node in allowed if priorities[node] == highest}


def compile_rules(rules: RuleSet, nodes: Sequence[str]) -> CompiledRules:
    """Returns the rules by resource, for a cluster of these nodes; disabled rules say nothing."""
    compiled = CompiledRules()
    for _, rule in sorted(rules.rules.items()):
        if rule.disabled:
            continue
        if isinstance(rule, NodeAffinityRule):
            priorities = dict(rule.nodes)
            if not rule.strict:
                priorities = dict.fromkeys(nodes, UNNAMED_PRIORITY) | priorities
            compiled.node_affinity.update(dict.fromkeys(rule.resources, priorities))
        elif len(rule.resources) > 1:
            relation = compiled.together if rule.affinity == "positive" else compiled.separate
            for resource in rule.resources:
                relation[resource] = relation.get(resource, frozenset()) | (rule.resources - {resource})
    return compiled
