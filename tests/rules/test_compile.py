"""Rules as they are asked, by resource."""

from haes.rules.compile import CompiledRules, compile_rules
from haes.rules.parse import parse_rules
from tests.rules.test_checks import NODES, apart, node, together


def compiled(*sections: str) -> CompiledRules:
    """Returns rules by resource, neither checked nor completed."""
    return compile_rules(parse_rules("".join(sections), "rules.cfg")[0], NODES)


def test_a_loose_rule_prefers() -> None:
    """Of a rule that is not strict, all other nodes are a last resort."""
    rules = compiled(node("aa", "vm:1", "node1,node2:3"))
    assert rules.node_affinity == {"vm:1": {"node1": 0, "node2": 3, "node3": -1}}


def test_a_strict_rule_forbids() -> None:
    """A strict rule knows no other node."""
    assert compiled(node("aa", "vm:1", "node1", "strict 1")).node_affinity == {"vm:1": {"node1": 0}}


def test_relations() -> None:
    """Relations of several rules add up; a resource alone and a disabled rule relate to nothing."""
    rules = compiled(
        together("aa", "vm:1,vm:2"), apart("bb", "vm:1,vm:3"), apart("cc", "vm:3,vm:4"), together("dd", "vm:9"),
        together("ee", "vm:1,vm:8", "disable"),
    )  # fmt: skip
    assert rules.together == {"vm:1": {"vm:2"}, "vm:2": {"vm:1"}}
    assert rules.separate == {"vm:1": {"vm:3"}, "vm:3": {"vm:1", "vm:4"}, "vm:4": {"vm:3"}}


def test_without_a_rule_every_online_node_will_do() -> None:
    """A resource without a node rule may use and prefers what is online, without a copy being made."""
    online = frozenset({"node2"})
    allowed, preferred = compiled().preferred_nodes("vm:1", online)
    assert allowed is online
    assert preferred is online


def test_the_highest_priority_online_is_preferred() -> None:
    """Nodes that are offline do not count."""
    rules = compiled(node("aa", "vm:1", "node1:2,node2:1"), node("bb", "vm:2", "node1:2,node2:1", "strict"))
    assert rules.preferred_nodes("vm:1", {"node1", "node2", "node3"}) == ({"node1", "node2", "node3"}, {"node1"})
    assert rules.preferred_nodes("vm:1", {"node2", "node3"}) == ({"node2", "node3"}, {"node2"})
    assert rules.preferred_nodes("vm:1", {"node3"}) == ({"node3"}, {"node3"})
    assert rules.preferred_nodes("vm:2", {"node3"}) == (set(), set())
