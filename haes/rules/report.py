"""The report on a rules file: which rules were left out and why, and what the others come to, as JSON."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from haes.rules.checks import find_conflicts, transform
from haes.rules.compile import CompiledRules, compile_rules
from haes.rules.messages import drop_message, reason
from haes.rules.model import NodeAffinityRule, Rule, RuleSet
from haes.rules.parse import parse_rules, rule_type
from haes.rules.section_config import Problem


def check_report(text: str, file: str, nodes: Sequence[str]) -> tuple[str, list[Problem]]:
    """Checks rules for a cluster of these nodes.

    Args:
        text: what the file holds, with the ends of its lines as they are.
        file: its name, for the problems.
        nodes: the nodes of the cluster.

    Returns:
        The report: messages, the rules that are left, and the rules by resource; and what could not be read or is
        probably not what was meant.
    """
    rules, problems = parse_rules(text, file)
    problems += doubts(rules, file, nodes)
    findings = transform(rules, nodes)
    problems += hidden_conflicts(rules, file, nodes)
    parts = ["--- Log ---", *(drop_message(finding) for finding in findings)]
    parts += ["--- Config ---", _pretty(rules_to_data(rules) | {"digest": digest(text)})]
    parts += ["--- Compiled Config ---", _pretty(compiled_to_data(compile_rules(rules, nodes)))]
    return "\n".join(parts) + "\n", problems


def doubts(rules: RuleSet, file: str, nodes: Sequence[str]) -> list[Problem]:
    """Returns what can be read, but is probably not what was meant: such a rule does nothing, in silence."""
    found = []
    for name, rule in sorted(rules.rules.items()):
        if rule.disable is False:
            found.append(Problem(file, 0, "disable", f"'disable 0' disables rule '{name}'; take the line out"))
        if isinstance(rule, NodeAffinityRule):
            found += [Problem(file, 0, node, text) for node, text in _unknown_nodes(name, rule, nodes)]
    return found


def _unknown_nodes(name: str, rule: NodeAffinityRule, nodes: Sequence[str]) -> Iterator[tuple[str, str]]:
    by_lower_case = {node.lower(): node for node in nodes}
    for node in sorted(rule.nodes.keys() - set(nodes)):
        similar = by_lower_case.get(node.lower())
        hint = f"; did you mean {similar}?" if similar else ""
        yield node, f"in rule '{name}' is not a node of this cluster; known are {', '.join(nodes)}{hint}"


def hidden_conflicts(rules: RuleSet, file: str, nodes: Sequence[str]) -> list[Problem]:
    """Returns which rules of a completed set cannot hold after all.

    Rules are checked before what follows from them is added, and joined step by step, so that a few contradictions come
    about later. They stay, since leaving them out would change what tools expect, but they must not stay unnoticed.
    """
    text = "stays, although it cannot hold beside what follows from other rules: "
    found = dict.fromkeys((finding.rule, reason(finding)) for finding in find_conflicts(rules, nodes))
    return [Problem(file, 0, rule, text + why) for rule, why in found]


def digest(text: str) -> str:
    """Returns the digest by which two versions of a file are told apart: SHA-1 in hexadecimal."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _pretty(data: Any) -> str:
    return json.dumps(data, indent=3, sort_keys=True, separators=(",", " : "), ensure_ascii=False)


def rules_to_data(rules: RuleSet) -> dict[str, Any]:
    """Returns rules as plain data: `ids`, id -> rule or None for a section that could not be used; `order`."""
    unusable: dict[str, Any] = dict.fromkeys(rules.order)
    return {
        "ids": unusable | {name: _rule_to_data(rule) for name, rule in rules.rules.items()},
        "order": dict(rules.order),
    }


def _rule_to_data(rule: Rule) -> dict[str, Any]:
    data: dict[str, Any] = {"type": rule_type(rule), "resources": dict.fromkeys(rule.resources, 1)}
    if isinstance(rule, NodeAffinityRule):
        data["nodes"] = _priorities_to_data(rule.nodes)
        if rule.strict is not None:
            data["strict"] = int(rule.strict)
    else:
        data["affinity"] = rule.affinity
    if rule.disable is not None:
        data["disable"] = int(rule.disable)
    if rule.comment is not None:
        data["comment"] = rule.comment
    return data


def _priorities_to_data(nodes: Mapping[str, int]) -> dict[str, dict[str, int]]:
    return {node: {"priority": priority} for node, priority in nodes.items()}


def compiled_to_data(compiled: CompiledRules) -> dict[str, Any]:
    """Returns compiled rules as plain data: `node-affinity` and `resource-affinity`, both by resource."""
    return {
        "node-affinity": {
            resource: {"nodes": _priorities_to_data(nodes)} for resource, nodes in compiled.node_affinity.items()
        },
        "resource-affinity": {
            "positive": _relation_to_data(compiled.together),
            "negative": _relation_to_data(compiled.separate),
        },
    }


def _relation_to_data(relation: Mapping[str, frozenset[str]]) -> dict[str, dict[str, int]]:
    return {resource: dict.fromkeys(others, 1) for resource, others in relation.items()}
