"""What follows from rules is written out as rules."""

from haes.rules.checks import transform
from haes.rules.model import NodeAffinityRule, ResourceAffinityRule, RuleSet
from haes.rules.parse import parse_rules
from tests.rules.test_checks import NODES, apart, node, together


def completed(*sections: str) -> RuleSet:
    """Returns the completed set, of which nothing was taken out."""
    rules, problems = parse_rules("".join(sections), "rules.cfg")
    assert problems == []
    assert transform(rules, NODES) == []
    return rules


def test_connected_rules_become_one() -> None:
    """Rules that share resources are joined under one name, at the place of the one with the lowest resource."""
    rules = completed(
        together("cc", "vm:3,vm:4"),
        together("aa", "vm:8,vm:9"),
        together("bb", "vm:2,vm:3"),
        together("dd", "vm:4,vm:5"),
    )
    merged = ResourceAffinityRule(frozenset({"vm:2", "vm:3", "vm:4", "vm:5"}), "positive")
    assert rules.rules == {
        "_merged-bb-cc-dd": merged,
        "aa": ResourceAffinityRule(frozenset({"vm:8", "vm:9"}), "positive"),
    }
    assert rules.order == {"_merged-bb-cc-dd": 3, "aa": 2}


def test_negative_rules_are_not_joined() -> None:
    """Being apart is nothing that passes from one to the next."""
    rules = completed(apart("aa", "vm:1,vm:2"), apart("bb", "vm:2,vm:3"))
    assert rules.rules.keys() == {"aa", "bb"}


def test_a_bundle_keeps_apart_as_one() -> None:
    """What one of a bundle is apart from, the others are apart from, too; such rules stand behind the first place."""
    rules = completed(together("aa", "vm:1,vm:2"), apart("bb", "vm:2,vm:3"), apart("cc", "vm:1,vm:4"))
    assert rules.rules["_implicit-negative-aa-vm:1-vm:3"].resources == {"vm:1", "vm:3"}
    assert rules.rules["_implicit-negative-aa-vm:2-vm:4"].resources == {"vm:2", "vm:4"}
    assert rules.order == {
        "aa": 1,
        "bb": 2,
        "cc": 3,
        "_implicit-negative-aa-vm:1-vm:3": 2,
        "_implicit-negative-aa-vm:2-vm:4": 2,
    }


def test_joining_comes_before_keeping_apart() -> None:
    """A bundle that was joined first keeps apart as one, under its new name."""
    rules = completed(together("aa", "vm:1,vm:2"), together("bb", "vm:2,vm:3"), apart("cc", "vm:3,vm:4"))
    assert {name for name in rules.rules if name.startswith("_implicit")} == {
        "_implicit-negative-_merged-aa-bb-vm:1-vm:4",
        "_implicit-negative-_merged-aa-bb-vm:2-vm:4",
    }


def test_a_bundle_follows_its_node_rule() -> None:
    """What a node rule says of one of a bundle holds for all of it."""
    rules = completed(together("aa", "vm:1,vm:2"), node("bb", "vm:2,vm:9", "node1", "strict 1"))
    assert rules.rules["bb"] == NodeAffinityRule(frozenset({"vm:1", "vm:2", "vm:9"}), {"node1": 0}, strict=True)


def test_keeping_apart_says_nothing_of_nodes() -> None:
    """A node rule does not spread to what is kept apart."""
    rules = completed(apart("aa", "vm:1,vm:2"), node("bb", "vm:2", "node1"))
    assert rules.rules["bb"].resources == {"vm:2"}


def test_disabled_rules_lead_to_nothing() -> None:
    """Nothing follows from a disabled rule, and it stays as it is."""
    rules = completed(
        together("aa", "vm:1,vm:2"), together("bb", "vm:2,vm:3", "disable"), node("cc", "vm:2", "node1", "disable")
    )
    assert rules.rules.keys() == {"aa", "bb", "cc"}
    assert rules.rules["cc"].resources == {"vm:2"}
