"""Rules as people write them: read and written; knows no check."""

from haes.rules.model import AFFINITIES, Affinity, NodeAffinityRule, ResourceAffinityRule, Rule, RuleSet
from haes.rules.section_config import Key, Problem, Section, parse_sections, write_section
from haes.rules.values import (
    read_comment,
    read_flag,
    read_nodes,
    read_resources,
    write_comment,
    write_nodes,
    write_resources,
)


def _read_affinity(text: str | None) -> Affinity:
    for affinity in AFFINITIES:
        if text == affinity:
            return affinity
    raise ValueError(f"'{text}' is neither {' nor '.join(AFFINITIES)}")


_COMMON = {"disable": Key(read_flag), "comment": Key(read_comment)}
_SCHEMA = {
    "node-affinity": {
        "resources": Key(read_resources, required=True),
        "nodes": Key(read_nodes, required=True),
        "strict": Key(read_flag),
        **_COMMON,
    },
    "resource-affinity": {
        "resources": Key(read_resources, required=True),
        "affinity": Key(_read_affinity, required=True),
        **_COMMON,
    },
}


def parse_rules(text: str, file: str) -> tuple[RuleSet, list[Problem]]:
    """Reads rules.

    Args:
        text: what the file holds.
        file: its name, for the problems.

    Returns:
        The rules that can be used, and what was left out.
    """
    sections, problems = parse_sections(text, file, _SCHEMA)
    result = RuleSet()
    for place, section in enumerate(sections, 1):
        result.drop(section.id)
        result.order[section.id] = place
        if not section.missing:
            result.rules[section.id] = _rule(section)
    return result, problems


def _rule(section: Section) -> Rule:
    values = section.values
    disable, comment = values.get("disable"), values.get("comment")
    if section.type == "node-affinity":
        return NodeAffinityRule(values["resources"], values["nodes"], values.get("strict"), disable, comment)
    return ResourceAffinityRule(values["resources"], values["affinity"], disable, comment)


def rule_type(rule: Rule) -> str:
    """Returns the type of a rule as it stands in its header."""
    return "node-affinity" if isinstance(rule, NodeAffinityRule) else "resource-affinity"


def write_rules(rules: RuleSet) -> str:
    """Returns rules as text that reads back as the same rules, their places counted anew."""
    names = sorted(rules.rules, key=lambda name: (rules.order[name], name))
    return "".join(write_section(rule_type(rules.rules[name]), name, _written(rules.rules[name])) for name in names)


def _written(rule: Rule) -> dict[str, str]:
    values = {}
    if rule.comment:
        values["comment"] = write_comment(rule.comment)
    if rule.disable is not None:
        values["disable"] = str(int(rule.disable))
    if isinstance(rule, NodeAffinityRule):
        values["nodes"] = write_nodes(rule.nodes)
    else:
        values["affinity"] = rule.affinity
    values["resources"] = write_resources(rule.resources)
    if isinstance(rule, NodeAffinityRule) and rule.strict is not None:
        values["strict"] = str(int(rule.strict))
    return values
