"""Rules as people write them."""

import pytest
from hypothesis import given

from haes.rules.model import NodeAffinityRule, ResourceAffinityRule, RuleSet
from haes.rules.parse import parse_rules, write_rules
from tests.rules.drawn import rule_sets


def one(text: str) -> NodeAffinityRule | ResourceAffinityRule | None:
    """Returns the rule 'one' of a text, if it can be used."""
    return parse_rules(text, "rules.cfg")[0].rules.get("one")


def node_rule(*lines: str) -> NodeAffinityRule | ResourceAffinityRule | None:
    """Returns a rule for vm:101 on node1, as far as the lines do not say otherwise."""
    keys = {line.split()[0] for line in lines}
    rest = [line for line in ("resources vm:101", "nodes node1") if line.split()[0] not in keys]
    return one("".join(["node-affinity: one\n", *(f"\t{line}\n" for line in (*lines, *rest))]))


def test_a_node_rule() -> None:
    """Lists may be separated by commas, semicolons and blanks; a priority follows a colon and is 0 by default."""
    rule = node_rule("resources vm:101; ct:102 ,vm:103", "nodes node1:2,node-b", "strict 1", "comment why: 100%25")
    assert rule == NodeAffinityRule(
        frozenset({"vm:101", "ct:102", "vm:103"}), {"node1": 2, "node-b": 0}, True, None, "why: 100%"
    )


def test_a_resource_rule() -> None:
    """Resources are kept together or apart."""
    text = "resource-affinity: one\n\tresources vm:1,vm:2\n\taffinity {}\n"
    assert one(text.format("positive")) == ResourceAffinityRule(frozenset({"vm:1", "vm:2"}), "positive")
    assert one(text.format("negative")) == ResourceAffinityRule(frozenset({"vm:1", "vm:2"}), "negative")
    assert one(text.format("Negative")) is None


@pytest.mark.parametrize(("line", "value"), [("disable", True), ("disable 1", True), ("disable 0", False)])
def test_a_disabled_rule(line: str, value: bool) -> None:
    """Whatever `disable` says, it disables; what it says is kept."""
    rule = node_rule(line)
    assert rule is not None
    assert rule.disable is value
    assert rule.disabled


@pytest.mark.parametrize("line", ["disable yes", "strict on", "strict 2"])
def test_flags_are_0_or_1(line: str) -> None:
    """A flag that says something else is not taken for either."""
    assert node_rule(line) == node_rule()


@pytest.mark.parametrize(
    "line",
    [
        "resources vm:101,VM:102",
        "resources vm:101,102",
        "resources",
        "nodes node1,node2.example.org",
        "nodes node1:high",
        "nodes -node1",
        "nodes node1:" + "9" * 5000,
        "nodes",
    ],
)
def test_one_bad_entry_spoils_a_list(line: str) -> None:
    """Half a list would mean something else than its author did, so the rule is left out."""
    assert node_rule(line) is None


def test_a_domain_is_named_as_the_mistake() -> None:
    """Whoever gives a full host name is told to leave the domain out."""
    _, problems = parse_rules("node-affinity: one\n\tresources vm:1\n\tnodes node1.example.org\n", "rules.cfg")
    assert "'node1.example.org' is no node" in str(problems[0])
    assert "without a domain" in str(problems[0])


def test_places_count_sections() -> None:
    """Sections that cannot be used have a place, those of no known type have none, the last of an id counts."""
    text = (
        "node-affinity: late\n\tresources vm:1\n\tnodes node1\n\nother: gone\n\n"
        "node-affinity: bad\n\tresources vm:1\n\nresource-affinity: good\n\tresources vm:1,vm:2\n\taffinity positive\n\n"
        "node-affinity: late\n\tresources vm:2\n\tnodes node2\n"
    )
    rules, problems = parse_rules(text, "rules.cfg")
    assert rules.order == {"bad": 2, "good": 3, "late": 4}
    assert rules.rules.keys() == {"good", "late"}
    assert rules.rules["late"].resources == {"vm:2"}
    assert [problem.line for problem in problems] == [5, 7, 14]


def test_a_later_useless_section_counts_too() -> None:
    """A rule does not come back because the section that replaced it has a mistake."""
    text = "node-affinity: one\n\tresources vm:1\n\tnodes node1\n\nnode-affinity: one\n\tresources vm:1\n"
    assert one(text) is None


def test_long_comments_are_left_out() -> None:
    """A comment is at most 4096 characters long."""
    assert node_rule("comment " + "x" * 4097) == node_rule()
    assert node_rule("comment " + "x" * 4096) != node_rule()


def test_text_of_rules() -> None:
    """Rules are written in the order of places, each value in one form."""
    rules = RuleSet()
    rules.add("later", ResourceAffinityRule(frozenset({"vm:2", "vm:1"}), "negative", disable=True), 2)
    rules.add("first", NodeAffinityRule(frozenset({"vm:1"}), {"node2": 0, "node1": 3}, False, comment="a: ü"), 1)
    assert write_rules(rules) == (
        "node-affinity: first\n\tcomment a%3A %C3%BC\n\tnodes node1:3,node2\n\tresources vm:1\n\tstrict 0\n\n"
        "resource-affinity: later\n\tdisable 1\n\taffinity negative\n\tresources vm:1,vm:2\n\n"
    )


@given(rule_sets())
def test_written_rules_read_back(rules: RuleSet) -> None:
    """What is written reads as the same rules at the same places, without a complaint."""
    again, problems = parse_rules(write_rules(rules), "rules.cfg")
    assert problems == []
    assert again.rules == rules.rules
    assert again.order == rules.order


def test_empty_lists_read_back() -> None:
    """A rule about nothing stays one."""
    rules = RuleSet({"none": NodeAffinityRule(frozenset(), {})}, {"none": 1})
    assert parse_rules(write_rules(rules), "rules.cfg") == (rules, [])
