"""What holds for any rules."""

from hypothesis import assume, given
from hypothesis import strategies as st

from haes.rules.active import sort_active
from haes.rules.checks import find_conflicts, transform
from haes.rules.compile import compile_rules
from haes.rules.model import RuleSet
from haes.rules.parse import parse_rules, write_rules
from haes.rules.sets import join_overlapping
from tests.rules.drawn import NODES, are_disjoint, rule_sets


def copy(rules: RuleSet) -> RuleSet:
    """Returns a set that can be changed apart from this one."""
    return RuleSet(dict(rules.rules), dict(rules.order))


def contradicts(rules: RuleSet) -> bool:
    """Returns whether some resources must be together and apart."""
    compiled = compile_rules(rules, NODES)
    return any(others & compiled.separate.get(resource, frozenset()) for resource, others in compiled.together.items())


@given(rule_sets())
def test_every_rule_is_kept_joined_or_named(rules: RuleSet) -> None:
    """No rule goes missing in silence: it stays, is part of a joined rule, or there is a reason."""
    before = copy(rules)
    dropped = {finding.rule for finding in transform(rules, NODES)}
    positive = sort_active(before).positive
    for name in before.rules.keys() - dropped - positive.keys():
        assert name in rules.rules
    kept = compile_rules(rules, NODES)
    for name in positive.keys() - dropped:
        for resource in positive[name].resources:
            assert positive[name].resources - {resource} <= kept.together[resource]
    assert rules.rules.keys() == rules.order.keys()


@given(rule_sets())
def test_no_two_rules_that_exclude_each_other_stay(rules: RuleSet) -> None:
    """Of rules that are given, no pair stays that the checks would reject."""
    before = copy(rules)
    dropped = {finding.rule for finding in transform(rules, NODES)}
    kept = sorted(before.rules.keys() - dropped)
    for first in kept:
        for second in kept:
            pair = RuleSet({name: before.rules[name] for name in (first, second)}, dict(before.order))
            assert find_conflicts(pair, NODES) == []


@given(rule_sets())
def test_nothing_is_together_and_apart(rules: RuleSet) -> None:
    """Where bundles are plain, what follows from rules does not contradict them."""
    before = sort_active(rules).positive
    dropped = {finding.rule for finding in transform(rules, NODES)}
    assume(are_disjoint(join_overlapping(before)))
    assume(are_disjoint(join_overlapping({name: rule for name, rule in before.items() if name not in dropped})))
    assert not contradicts(rules)


@given(rule_sets())
def test_contradictions_do_not_hide(rules: RuleSet) -> None:
    """Where bundles overlap in such a way that a contradiction stays, checking the completed set finds it."""
    transform(rules, NODES)
    assert not contradicts(rules) or find_conflicts(rules, NODES)


@given(rule_sets())
def test_relations_go_both_ways(rules: RuleSet) -> None:
    """Who is together with or apart from another, that one is so with him, and nobody is so with himself."""
    transform(rules, NODES)
    compiled = compile_rules(rules, NODES)
    for relation in (compiled.together, compiled.separate):
        for resource, others in relation.items():
            assert others
            assert resource not in others
            assert all(resource in relation[other] for other in others)


@given(rule_sets(), st.randoms(use_true_random=False))
def test_the_order_of_sections_does_not_matter(rules: RuleSet, random: st.randoms) -> None:
    """Findings, rules and relations are the same in whatever order sections stand; only places differ."""
    sections = [f"{section}\n" for section in write_rules(rules).split("\n\n")]
    random.shuffle(sections)
    other, problems = parse_rules("\n".join(sections), "rules.cfg")
    assert problems == []
    assert transform(other, NODES) == transform(rules, NODES)
    assert other.rules == rules.rules
    assert compile_rules(other, NODES) == compile_rules(rules, NODES)


@given(rule_sets(), st.sets(st.sampled_from(NODES)))
def test_preferred_nodes_are_allowed_and_online(rules: RuleSet, online: set[str]) -> None:
    """A resource prefers some of the nodes that it may use, none only where it may use none, and all are online."""
    transform(rules, NODES)
    compiled = compile_rules(rules, NODES)
    for resource in {*compiled.node_affinity, "vm:999"}:
        allowed, preferred = compiled.preferred_nodes(resource, online)
        assert preferred <= allowed <= online
        assert bool(preferred) == bool(allowed)
