"""Old-style groups, and what they say as rules."""

from haes.rules.groups import Group, failback_from_groups, parse_groups, rules_from_groups
from haes.rules.model import NodeAffinityRule, RuleSet
from haes.rules.parse import parse_rules, write_rules
from tests.rules.test_checks import node

TEXT = "group: prefer\n\tnodes node1:2,node2\n\tcomment 100%25\n\ngroup: must\n\tnodes node3\n\trestricted 1\n\tnofailback\n"


def test_groups_are_read() -> None:
    """Nodes have priorities, flags stand alone or with 1 or 0, and comments stand as they are."""
    groups, problems = parse_groups(TEXT, "groups.cfg")
    assert problems == []
    assert groups == {
        "prefer": Group({"node1": 2, "node2": 0}, comment="100%25"),
        "must": Group({"node3": 0}, restricted=True, nofailback=True),
    }


def test_a_group_without_nodes_is_left_out() -> None:
    """A group that names no node is named in return."""
    groups, problems = parse_groups("group: empty\n\trestricted 1\n\nrule: other\n", "groups.cfg")
    assert groups == {}
    assert [(problem.line, problem.key) for problem in problems] == [(1, "nodes"), (4, "rule")]


def test_failback() -> None:
    """Resources fail back unless their group says otherwise, be it that the group does not exist."""
    groups, _ = parse_groups(TEXT, "groups.cfg")
    assert failback_from_groups(groups, {"vm:1": "prefer", "vm:2": "must", "vm:3": "gone"}) == {
        "vm:1": True,
        "vm:2": False,
        "vm:3": True,
    }


def test_groups_become_node_rules() -> None:
    """Each group that is used and exists makes one rule, strict if it is restricted, behind the first place."""
    groups, _ = parse_groups(TEXT, "groups.cfg")
    rules, _ = parse_rules(node("aa", "vm:9", "node1") + node("bb", "vm:8", "node1"), "rules.cfg")
    rules = rules_from_groups(rules, groups, {"vm:1": "must", "vm:2": "prefer", "vm:3": "gone", "vm:4": "must"})
    assert rules.rules["ha-group-must"] == NodeAffinityRule(
        frozenset({"vm:1", "vm:4"}), {"node3": 0}, strict=True, comment="Generated from HA group 'must'."
    )
    assert rules.rules["ha-group-prefer"] == NodeAffinityRule(
        frozenset({"vm:2"}), {"node1": 2, "node2": 0}, comment="100%25"
    )
    assert rules.order == {"aa": 1, "bb": 2, "ha-group-must": 2, "ha-group-prefer": 2}


def test_groups_without_rules_before() -> None:
    """The first rule made of a group takes the first place, the second stands behind it."""
    groups, _ = parse_groups(TEXT, "groups.cfg")
    rules = rules_from_groups(RuleSet(), groups, {"vm:1": "prefer", "vm:2": "must"})
    assert rules.order == {"ha-group-must": 1, "ha-group-prefer": 2}


def test_rules_made_of_groups_can_be_written() -> None:
    """Turned into rules and written down, groups read as the same rules."""
    groups, _ = parse_groups(TEXT, "groups.cfg")
    rules = rules_from_groups(RuleSet(), groups, {"vm:1": "prefer", "vm:2": "must"})
    assert parse_rules(write_rules(rules), "rules.cfg") == (rules, [])
