"""Affinity rules as a leader uses them: read, checked, compiled; a cache that can always be thrown away.

The texts in the state are the truth. Old-style groups count as rules until they are turned into rules for good.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import sha256

from haes.rules.checks import Finding, transform
from haes.rules.compile import CompiledRules, compile_rules
from haes.rules.groups import failback_from_groups, parse_groups, rules_from_groups
from haes.rules.parse import parse_rules
from haes.state.cluster import ClusterState


@dataclass(slots=True)
class RulesInUse:
    """What follows from the rules and groups of a state.

    Attributes:
        key: digest of all that the rules follow from.
        compiled: node affinity and resource affinity by resource.
        findings: the rules that had to be left out, and why.
        failback: resource -> failback as its group says, for resources in groups.
    """

    key: str = ""
    compiled: CompiledRules = field(default_factory=lambda: compile_rules(parse_rules("", "rules")[0], []))
    findings: list[Finding] = field(default_factory=list)
    failback: dict[str, bool] = field(default_factory=dict)

    def fails_back(self, state: ClusterState, resource: str) -> bool:
        """Returns whether a resource goes back to its preferred node."""
        if resource in self.failback:
            return self.failback[resource]
        configuration = state.configurations.get(resource)
        return configuration is not None and bool(configuration.failback)

    def preferred(self, resource: str, online: AbstractSet[str]) -> tuple[AbstractSet[str], AbstractSet[str]]:
        """Returns the online nodes that a resource may use, and those among them that it prefers."""
        return self.compiled.preferred_nodes(resource, online)


def rules_digest(state: ClusterState) -> str:
    """Returns a digest of what people wrote: rules and groups."""
    return sha256(f"{state.rules_text}\0{state.groups_text}".encode()).hexdigest()[:16]


def rules_key(state: ClusterState, nodes: Sequence[str]) -> str:
    """Returns what compiled rules follow from: the digest, who is in a group, the nodes that they were compiled for."""
    members = groups_of_resources(state) if state.groups_text else {}
    return f"{rules_digest(state)} {','.join(nodes)} {members}"


def build_rules(state: ClusterState, nodes: Sequence[str]) -> RulesInUse:
    """Reads, checks and compiles the rules of a state for a cluster of these nodes."""
    rules, _problems = parse_rules(state.rules_text, "rules")
    failback: dict[str, bool] = {}
    if state.groups_text:
        groups, _problems = parse_groups(state.groups_text, "groups")
        group_of = groups_of_resources(state)
        failback = failback_from_groups(groups, group_of)
        rules = rules_from_groups(rules, groups, group_of) or rules
    findings = transform(rules, nodes)
    return RulesInUse(rules_key(state, nodes), compile_rules(rules, nodes), findings, failback)


def groups_of_resources(state: ClusterState) -> dict[str, str]:
    """Returns resource -> old-style group, for resources that have one."""
    return {
        resource: configuration.group
        for resource, configuration in sorted(state.configurations.items())
        if configuration.group
    }
