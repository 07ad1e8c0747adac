"""Each check finds the rules that cannot hold, and no others."""

import pytest

from haes.rules.checks import transform
from haes.rules.messages import drop_message
from haes.rules.parse import parse_rules

NODES = ("node1", "node2", "node3")


def node(name: str, resources: str, nodes: str, *lines: str) -> str:
    """Returns a node rule."""
    return "\n\t".join([f"node-affinity: {name}", f"resources {resources}", f"nodes {nodes}", *lines]) + "\n\n"


def together(name: str, resources: str, *lines: str) -> str:
    """Returns a rule that keeps resources together."""
    lines = (f"resource-affinity: {name}", f"resources {resources}", "affinity positive", *lines)
    return "\n\t".join(lines) + "\n\n"


def apart(name: str, resources: str, *lines: str) -> str:
    """Returns a rule that keeps resources apart."""
    return together(name, resources, *lines).replace("positive", "negative")


def messages(*sections: str) -> list[str]:
    """Returns what is said about rules that are taken out."""
    return [drop_message(finding) for finding in transform(parse_rules("".join(sections), "rules.cfg")[0], NODES)]


def dropped(*sections: str) -> list[str]:
    """Returns the rules that are taken out, once for each reason."""
    return [finding.rule for finding in transform(parse_rules("".join(sections), "rules.cfg")[0], NODES)]


def test_a_resource_may_be_in_one_node_rule() -> None:
    """All node rules of a resource go, once for each resource that they share."""
    assert messages(
        node("aa", "vm:1,vm:2", "node1"), node("bb", "vm:2,vm:1", "node1"), node("cc", "vm:3", "node1")
    ) == [
        "Drop rule 'aa', because resource 'vm:1' is already used in another node affinity rule.",
        "Drop rule 'aa', because resource 'vm:2' is already used in another node affinity rule.",
        "Drop rule 'bb', because resource 'vm:1' is already used in another node affinity rule.",
        "Drop rule 'bb', because resource 'vm:2' is already used in another node affinity rule.",
    ]


def test_affinity_is_between_two() -> None:
    """A resource alone is neither together with nor apart from anything."""
    assert messages(together("aa", "vm:1"), apart("bb", "vm:1,vm:1"), apart("cc", "vm:1,vm:2")) == [
        "Drop rule 'aa', because rule is ineffective as there are less than two resources.",
        "Drop rule 'bb', because rule is ineffective as there are less than two resources.",
    ]


def test_resources_apart_need_a_node_each() -> None:
    """More resources than nodes cannot be apart, however many may be together."""
    assert messages(apart("aa", "vm:1,vm:2,vm:3,vm:4"), apart("bb", "vm:1,vm:2,vm:3"), together("cc", "vm:1")) == [
        "Drop rule 'aa', because rule defines more resources than available nodes.",
        "Drop rule 'cc', because rule is ineffective as there are less than two resources.",
    ]


def test_nothing_is_together_and_apart() -> None:
    """Two resources that are kept together, be it by way of others, cannot be kept apart; each clash is told."""
    assert messages(
        together("aa", "vm:1,vm:2"), together("bb", "vm:2,vm:3"), apart("cc", "vm:1,vm:3"), apart("dd", "vm:1,vm:2")
    ) == [
        "Drop rule 'aa', because rule shares two or more resources with a negative resource affinity rule.",
        "Drop rule 'aa', because rule shares two or more resources with a negative resource affinity rule.",
        "Drop rule 'bb', because rule shares two or more resources with a negative resource affinity rule.",
        "Drop rule 'bb', because rule shares two or more resources with a negative resource affinity rule.",
        "Drop rule 'cc', because rule shares two or more resources with a positive resource affinity rule.",
        "Drop rule 'dd', because rule shares two or more resources with a positive resource affinity rule.",
    ]


@pytest.mark.parametrize("relation", [together, apart])
def test_several_priorities_do_not_go_with_affinity(relation: object) -> None:
    """Which nodes are preferred would depend on where the others run, so both kinds of rules go."""
    assert callable(relation)
    assert messages(
        relation("aa", "vm:1,vm:2"), node("bb", "vm:1", "node1:1,node2"), node("cc", "vm:9", "node1,node2:1")
    ) == [
        "Drop rule 'aa', because resources are in node affinity rules with multiple priorities.",
        "Drop rule 'bb', because resources are in a resource affinity rule and cannot be in a node affinity rule with"
        " multiple priorities.",
    ]


def test_different_priorities_in_different_rules_are_fine() -> None:
    """Only priorities within one rule have to be equal."""
    assert dropped(apart("aa", "vm:1,vm:2"), node("bb", "vm:1", "node1:1"), node("cc", "vm:2", "node2:2")) == []


def test_a_bundle_has_one_node_rule() -> None:
    """Resources that are kept together by way of others cannot have two node rules, even equal ones."""
    text = [
        together("aa", "vm:1,vm:2"),
        together("bb", "vm:2,vm:3"),
        node("cc", "vm:1", "node1"),
        node("dd", "vm:3", "node1"),
    ]
    assert messages(*text) == [
        "Drop rule 'aa', because resources are in multiple node affinity rules.",
        "Drop rule 'bb', because resources are in multiple node affinity rules.",
        "Drop rule 'cc', because at least one resource is in a positive resource affinity rule and there are other"
        " resources in at least one other node affinity rule already.",
        "Drop rule 'dd', because at least one resource is in a positive resource affinity rule and there are other"
        " resources in at least one other node affinity rule already.",
    ]


def test_node_rules_leave_room_to_spread() -> None:
    """Resources that are kept apart need as many nodes as they are, within their node rules."""
    assert messages(apart("aa", "vm:1,vm:2,vm:3"), node("bb", "vm:1", "node1"), node("cc", "vm:2", "node1")) == [
        "Drop rule 'aa', because two or more resources are restricted to less nodes than available to the resources.",
        "Drop rule 'bb', because at least one resource is in a negative resource affinity rule and this rule would"
        " restrict these to less nodes than available to the resources.",
        "Drop rule 'cc', because at least one resource is in a negative resource affinity rule and this rule would"
        " restrict these to less nodes than available to the resources.",
    ]
    assert dropped(apart("aa", "vm:1,vm:2"), node("bb", "vm:1", "node1"), node("cc", "vm:2", "node2")) == []


def test_findings_stand_by_rule_and_then_by_check() -> None:
    """Of one rule, each check's reason is told, in the order of checks."""
    assert messages(apart("zz", "vm:1,vm:2,vm:3,vm:4"), together("yy", "vm:1,vm:2"), node("xx", "vm:3,vm:4", "node1"))[
        1:
    ] == [
        "Drop rule 'yy', because rule shares two or more resources with a negative resource affinity rule.",
        "Drop rule 'zz', because rule defines more resources than available nodes.",
        "Drop rule 'zz', because rule shares two or more resources with a positive resource affinity rule.",
        "Drop rule 'zz', because two or more resources are restricted to less nodes than available to the resources.",
    ]


def test_disabled_rules_are_in_nobodys_way() -> None:
    """A disabled rule is neither checked nor held against another, and stays in the set."""
    text = node("aa", "vm:1", "node1") + node("bb", "vm:1", "node2", "disable") + together("cc", "vm:1", "disable")
    rules, _ = parse_rules(text, "rules.cfg")
    assert transform(rules, NODES) == []
    assert rules.rules.keys() == {"aa", "bb", "cc"}
