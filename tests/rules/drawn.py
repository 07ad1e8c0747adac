"""Rules drawn at random: few resources and nodes, so that conflicts are frequent."""

from hypothesis import strategies as st

from haes.rules.model import AFFINITIES, NodeAffinityRule, ResourceAffinityRule, RuleSet
from haes.rules.sets import Joined

NODES = ("node1", "node2", "node3")
RESOURCES = st.frozensets(st.sampled_from([f"vm:{number}" for number in range(101, 108)]), min_size=1, max_size=4)
FLAGS = st.sampled_from([None, None, None, False, True])
# What fits on one line, blanks at the ends and anything beyond ASCII included.
COMMENTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
NODE_RULES = st.builds(
    NodeAffinityRule,
    RESOURCES,
    st.dictionaries(st.sampled_from(NODES), st.integers(0, 2), min_size=1),
    FLAGS,
    FLAGS,
    COMMENTS,
)
RESOURCE_RULES = st.builds(ResourceAffinityRule, RESOURCES, st.sampled_from(AFFINITIES), FLAGS, COMMENTS)
IDS = st.from_regex(r"[a-z][a-z0-9_-]{1,5}", fullmatch=True)


@st.composite
def rule_sets(draw: st.DrawFn) -> RuleSet:
    """Draws a set of rules, placed from 1 on."""
    rules = draw(st.dictionaries(IDS, NODE_RULES | RESOURCE_RULES, max_size=7))
    return RuleSet(dict(rules), {name: place for place, name in enumerate(rules, 1)})


def are_disjoint(groups: list[Joined]) -> bool:
    """Returns whether no resource is in two groups."""
    return sum(len(group.resources) for group in groups) == len(set().union(*(group.resources for group in groups)))
