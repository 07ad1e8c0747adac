"""Rules as people write them: read and written; knows no check."""

import re

from haes.rules.model import Affinity, NodeAffinityRule, ResourceAffinityRule, Rule, RuleSet
from haes.rules.section_config import Problem, Section, parse_sections, split_list

_RESOURCE = re.compile(r"^[a-z]+:\S+$")
_NODE = re.compile(r"^([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?::(\d+))?$")
_KEYS = {
    "node-affinity": {"resources", "nodes", "strict", "disable", "comment"},
    "resource-affinity": {"resources", "affinity", "disable", "comment"},
}
_AFFINITIES: dict[str, Affinity] = {"positive": "positive", "negative": "negative"}
_TRUE = {"1", "on", "yes", "true"}


def parse_rules(text: str, file: str) -> tuple[RuleSet, list[Problem]]:
    """Returns the rules of a configuration, and what was left out of it."""
    sections, problems = parse_sections(text, file)
    result = RuleSet()
    for place, section in enumerate(sections, 1):
        rule = _rule(section, file, problems)
        if rule is not None:
            result.rules[section.id] = rule
            result.order[section.id] = place
    return result, problems


def _rule(section: Section, file: str, problems: list[Problem]) -> Rule | None:
    keys = _KEYS.get(section.type)
    if keys is None:
        known = " or ".join(sorted(_KEYS))
        problems.append(Problem(file, section.line, section.type, f"is no type of rule; expected {known}"))
        return None
    problems.extend(
        Problem(file, section.lines[key], key, f"is unknown in a {section.type} rule")
        for key in sorted(section.properties.keys() - keys)
    )
    for key in sorted({"resources", "nodes", "affinity"} & keys - section.properties.keys()):
        problems.append(Problem(file, section.line, key, f"is missing in rule '{section.id}'"))
        return None
    values = section.properties
    resources = set()
    for name in split_list(values["resources"]):
        if _RESOURCE.match(name):
            resources.add(name)
        else:
            problems.append(Problem(file, section.lines["resources"], name, "is no resource id"))
    disabled = "disable" in values
    comment = values.get("comment")
    if section.type == "resource-affinity":
        affinity = values["affinity"]
        relation = _AFFINITIES.get(affinity)
        if relation is not None:
            return ResourceAffinityRule(resources, relation, disabled, comment)
        problems.append(Problem(file, section.lines["affinity"], affinity, "expected positive or negative"))
        return None
    nodes = {}
    for entry in split_list(values["nodes"]):
        match = _NODE.match(entry)
        if match:
            nodes[match[1]] = int(match[2] or 0)
        else:
            problems.append(Problem(file, section.lines["nodes"], entry, "is no node with an optional priority"))
    strict = values["strict"].lower() in _TRUE if "strict" in values else None
    return NodeAffinityRule(resources, nodes, strict, disabled, comment)


def write_rules(rules: RuleSet) -> str:
    """Returns rules as text that reads back as the same rules."""
    parts = []
    for name in sorted(rules.rules, key=lambda name: (rules.order[name], name)):
        rule = rules.rules[name]
        lines = [f"{'node-affinity' if isinstance(rule, NodeAffinityRule) else 'resource-affinity'}: {name}"]
        if rule.comment:
            lines.append(f"\tcomment {rule.comment}")
        if rule.disabled:
            lines.append("\tdisable 1")
        if isinstance(rule, NodeAffinityRule):
            nodes = [node + (f":{priority}" if priority else "") for node, priority in sorted(rule.nodes.items())]
            lines.append(f"\tnodes {','.join(nodes)}")
            lines.append(f"\tresources {','.join(sorted(rule.resources))}")
            if rule.strict is not None:
                lines.append(f"\tstrict {int(rule.strict)}")
        else:
            lines.append(f"\taffinity {rule.affinity}")
            lines.append(f"\tresources {','.join(sorted(rule.resources))}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
