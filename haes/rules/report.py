"""The report on a rules file: which rules were left out and why, and what the others come to, as JSON."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from haes.rules.checks import transform
from haes.rules.compile import CompiledRules, compile_rules
from haes.rules.messages import drop_message
from haes.rules.model import NodeAffinityRule, Rule, RuleSet
from haes.rules.parse import parse_rules
from haes.rules.section_config import Problem


def check_report(text: str, file: str, nodes: Sequence[str]) -> tuple[str, list[Problem]]:
    """Checks rules for a cluster of these nodes.

    Returns:
        The report: messages, the rules that are left, and the rules by resource; and what could not be read.
    """
    rules, problems = parse_rules(text, file)
    problems += _unknown_nodes(rules, file, nodes)
    findings = transform(rules, nodes)
    parts = ["--- Log ---", *(drop_message(finding) for finding in findings)]
    parts += ["--- Config ---", _pretty(_rules_data(rules, text))]
    parts += ["--- Compiled Config ---", _pretty(_compiled_data(compile_rules(rules, nodes)))]
    return "\n".join(parts) + "\n", problems


def _unknown_nodes(rules: RuleSet, file: str, nodes: Sequence[str]) -> list[Problem]:
    """A rule with a misspelt node matches nothing, silently; that must be loud."""
    return [
        Problem(file, 0, node, f"in rule '{name}' is not a node of this cluster; known are {', '.join(nodes)}")
        for name, rule in sorted(rules.rules.items())
        if isinstance(rule, NodeAffinityRule)
        for node in sorted(rule.nodes.keys() - set(nodes))
    ]


def _pretty(data: Any) -> str:
    return json.dumps(data, indent=3, sort_keys=True, separators=(",", " : "), ensure_ascii=False)


def _rule_data(rule: Rule) -> dict[str, Any]:
    data: dict[str, Any] = {"resources": dict.fromkeys(rule.resources, 1)}
    if isinstance(rule, NodeAffinityRule):
        data["type"] = "node-affinity"
        data["nodes"] = {node: {"priority": priority} for node, priority in rule.nodes.items()}
        if rule.strict is not None:
            data["strict"] = int(rule.strict)
    else:
        data["type"] = "resource-affinity"
        data["affinity"] = rule.affinity
    if rule.disabled:
        data["disable"] = 1
    if rule.comment is not None:
        data["comment"] = rule.comment
    return data


def _rules_data(rules: RuleSet, text: str) -> dict[str, Any]:
    return {
        "digest": hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
        "ids": {name: _rule_data(rule) for name, rule in rules.rules.items()},
        "order": rules.order,
    }


def _compiled_data(compiled: CompiledRules) -> dict[str, Any]:
    def relation(pairs: dict[str, frozenset[str]]) -> dict[str, dict[str, int]]:
        return {resource: dict.fromkeys(others, 1) for resource, others in pairs.items() if others}

    return {
        "node-affinity": {
            resource: {"nodes": {node: {"priority": priority} for node, priority in priorities.items()}}
            for resource, priorities in compiled.node_affinity.items()
        },
        "resource-affinity": {"positive": relation(compiled.together), "negative": relation(compiled.separate)},
    }
