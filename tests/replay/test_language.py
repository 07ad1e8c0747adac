"""Conditions over a state: what they mean, and that nothing but a clear refusal comes of what they are not."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.envelope import Event
from events.errors import UserError
from haes.balancer.memory import Failure
from haes.state import ClusterState
from haes.state.records import AgentRecord, ResourceConfiguration, ResourceRecord
from replay.language import Moment, compile_condition
from replay.language.names import EVENT, LOOK_UPS, THINGS, VALUES
from replay.language.syntax import DEEPEST
from replay.language.tokens import LONGEST


def _moment() -> Moment:
    state = ClusterState()
    state.n, state.at, state.leader, state.scheduler = 57, 320, "node1", "dynamic"
    state.members = {"node1", "node2", "node3"}
    state.nodes = {"node1": "online", "node2": "fence"}
    state.agents = {"node1": AgentRecord("active", "active")}
    state.maintenance = {"node3"}
    state.resources = {
        "vm:101": ResourceRecord("started", "node1", running=True),
        "vm:102": ResourceRecord("error", "node2", failed_nodes=["node1"]),
        "vm:103": ResourceRecord("migrate", "node1", target="node3", origin="motion/2"),
    }
    state.configurations = {"vm:104": ResourceConfiguration("node3", lock="backup")}
    state.settings = {"crs": {"ha-auto-rebalance-backoff": "time"}}
    state.balance.failures = {("vm:102", "node3"): Failure(3, until=400, first_series=None, reason="exit code 1")}
    state.balance.cooldowns = {"vm:101": 320, "vm:103": 330}
    moment = Moment(state)
    moment.event = Event("balance.failed", "balance", "node1/crm", 320)
    moment.imbalance = 41.5
    return moment


MOMENT = _moment()


def _holds(text: str) -> bool:
    return compile_condition(text).holds(MOMENT)


@pytest.mark.parametrize(
    "text",
    [
        'resource("vm:101").node == "node1"',
        "resource('vm:103').target == 'node3' and resource('vm:103').origin == 'motion/2'",
        'resource("vm:104").node == "node3" and resource("vm:104").state == none',
        'resource("vm:104").lock == "backup" and not resource("vm:104").running',
        'resource("vm:101").running == true and resource("vm:102").running == false',
        'resource("vm:102").attempts >= 3 and resource("vm:102").exists',
        'not resource("vm:101").rests and resource("vm:103").rests',
        'not resource("vm:999").exists and resource("vm:999").node == none',
        '"node1" in resource("vm:102").failed_nodes',
        'node("node2").state == "fence"',
        'node("node1").agent == "active" and node("node1").mode == "active" and node("node1").resources == 2',
        'node("node3").maintenance and node("node3").state == none and node("node3").exists',
        "imbalance > 40 and 40 < imbalance <= 41.5",
        "at - n == 263 and -n < +at",
        'count(resources) == 4 and count(resources, state == "error") == 1',
        'count(resources, node == "node1" and not running) == 1',
        'count(nodes, state == "online") * 2 > count(nodes, state == "fence")',
        "any(failures, attempts >= 3 and until > at)",
        'all(failures, target == "node3") and not all(resources, state == "started")',
        'event.type == "balance.failed" and event.by == "node1/crm" and not event.late',
        '"crm" in event.by and "lrm" not in event.by',
        'leader in ["node1", "node2"] and leader not in [] and n in [56, 57]',
        'setting("ha-auto-rebalance-backoff") == "time" and setting("ha-auto-rebalance-threshold") == 30',
        "refusal == none and disarm == none and not paused",
        "TRUE and Not False or None == none",
    ],
)
def test_conditions_mean_what_they_say(text: str) -> None:
    """Names, attributes, functions and operators stand for what the documentation says of them."""
    assert _holds(text)
    assert not _holds(f"not ({text})")


@pytest.mark.parametrize(
    "text",
    [
        "n / 0 > 1",
        "n / 0 < 1",
        "n / (n - n) == 1",
        'resource("vm:999").attempts + n < 0',
        'resource("vm:999").node < "z"',
        'resource("vm:999").running and true',
        'resource("vm:999").node in ["node1"]',
        '"node1" in resource("vm:999").failed_nodes',
        "none",
        'setting("ha-auto-rebalance-max-spread") > 0',
    ],
)
def test_what_is_not_known_never_holds(text: str) -> None:
    """A missing thing, a setting that is off and a division by zero are none; nothing is ordered by it."""
    assert not _holds(text)


@pytest.mark.parametrize(
    ("text", "column", "named"),
    [
        ("", 1, "the end"),
        ("imbalance", 1, "a condition (true or false), this is a number"),
        ("imbalance > ", 13, "found the end"),
        ("imbalanse > 4", 1, "unknown name 'imbalanse'; known are n, at"),
        ('imbalance > "4"', 11, "here are a number and a text"),
        ('imbalance == "4"', 11, "never equal"),
        ("imbalance = 4", 11, "equal is '=='"),
        ('resource("vm:1").nod == "x"', 18, "a resource has no 'nod'; known are name, exists, state, node"),
        ('resource("vm:1")', 1, "needs an attribute"),
        ("resource(vm) == 1", 1, "needs an attribute"),
        ("resource(n).node == none", 1, "one text in quotes"),
        ("resource.node == none", 10, "have attributes"),
        ("resources > 1", 1, "count(resources, CONDITION)"),
        ("count(resources", 16, "expected ','"),
        ("count(resources, foo) > 1", 18, "known are name, exists, state"),
        ("count(resources, node) > 1", 18, "this is a text"),
        ("count(things) > 1", 1, "ALL is resources, nodes, failures"),
        ("any(resources)", 1, "any(ALL, CONDITION)"),
        ("exec(1)", 1, "unknown function 'exec'; known are resource"),
        ("event == 1", 1, "event"),
        ("leader.name == 1", 8, "have attributes"),
        ('setting("colour") == 1', 1, "unknown setting 'colour'; known are ha"),
        ('not leader and "x"', 5, "this is a text"),
        ("n + leader > 1", 5, "'+' needs numbers, this is a text"),
        ("-leader > 1", 2, "'-' needs numbers"),
        ("n in 5", 3, "a list of such"),
        ("n in ['a']", 3, "a list of such"),
        ("n in [1, 'a']", 6, "numbers only or texts only"),
        ("1 < 2 3", 7, "expected an operator or the end, found '3'"),
        ("(n > 1", 7, "expected ')'"),
        ("n > 1)", 6, "expected an operator or the end"),
        ("n not 5", 7, "expected 'in'"),
        ('leader == "node1', 11, "does not end"),
        ("n > 1 & n < 2", 7, "'&' is nothing"),
        ("n.__class__ == 1", 3, "have attributes"),
        ("n > " + "9" * 18, 5, "at most 17 digits"),
        ("(" * 100 + "true" + ")" * 100, DEEPEST + 1, "nested deeper"),
        (" and ".join(["true"] * 100), None, "nested deeper"),
        ("not " * 100 + "true", None, "nested deeper"),
        (" " * LONGEST + "true", LONGEST + 1, "longer than"),
    ],
)
def test_what_is_wrong_is_named_with_its_column(text: str, column: int | None, named: str) -> None:
    """Every mistake ends in one line with its place and what is allowed there, before anything is read."""
    with pytest.raises(UserError) as caught:
        compile_condition(text)
    message = str(caught.value)
    assert named in message
    assert "\n" not in message
    assert column is None or message.startswith(f"expression, column {column}: ")


WORDS = st.sampled_from(
    [
        *VALUES, *THINGS, *LOOK_UPS, *EVENT.attributes, "event", "count", "any", "all", "setting", "and", "or", "not",
        "in", "true", "false", "none", "(", ")", "[", "]", ",", ".", "+", "-", "*", "/", "==", "!=", "<", "<=", ">",
        ">=", "1", "0.5", "1e5", '"vm:101"', "'node1'", "state", "node", "foo", "=", "!", '"', "\n", "\\", "∞",
    ]
)  # fmt: skip


@given(st.text(max_size=60) | st.lists(WORDS, max_size=25).map(" ".join))
def test_any_text_is_a_condition_or_is_refused(text: str) -> None:
    """Whatever is typed ends in a condition that can be judged at any moment, or in a refusal of one line."""
    refusal = ""
    try:
        condition = compile_condition(text)
    except UserError as error:
        refusal = str(error)
    if refusal:
        assert re.fullmatch(r"expression, column \d+: \S.*", refusal)
        return
    for moment in (MOMENT, Moment(ClusterState())):
        assert condition.holds(moment) in {True, False}


NUMBERS = st.integers(0, 1000).map(str) | st.floats(0, 1e6, width=32).map(lambda value: f"{value:.4f}")


def _sums(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operator = st.sampled_from([" + ", " - ", "*", " / "])
    return (
        st.tuples(inner, operator, inner).map("".join)
        | inner.map(lambda text: f"({text})")
        | inner.map(lambda text: f"-{text}")
    )


ARITHMETIC = st.recursive(NUMBERS, _sums, max_leaves=8)
COMPARISONS = st.tuples(
    ARITHMETIC,
    st.lists(st.tuples(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), ARITHMETIC), min_size=1, max_size=3),
).map(lambda parts: parts[0] + "".join(f" {sign} {operand}" for sign, operand in parts[1]))
MEMBERSHIPS = st.tuples(ARITHMETIC, st.sampled_from([" in ", " not in "]), st.lists(NUMBERS, max_size=3)).map(
    lambda parts: f"{parts[0]}{parts[1]}[{', '.join(parts[2])}]"
)


def _conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map("".join)
        | inner.map(lambda text: f"not {text}")
        | inner.map(lambda text: f"({text})")
    )


@given(st.recursive(COMPARISONS | MEMBERSHIPS | st.sampled_from(["True", "False"]), _conditions, max_leaves=6))
def test_conditions_are_judged_as_python_would(text: str) -> None:
    """Precedence, chains, membership and arithmetic give what the same text gives in Python."""
    try:
        expected = eval(text, {"__builtins__": {}})  # noqa: S307 - made of numbers and operators alone
    except ZeroDivisionError:
        assert _holds(text) in {True, False}
        return
    assert _holds(text) is expected


def test_the_imbalance_is_the_last_one_on_record() -> None:
    """Motions, advice and refusals put an imbalance on record; events that measure nothing leave it as it was."""
    moment, told = Moment(ClusterState()), []
    motion: dict[str, Any] = dict.fromkeys(["policy", "verb", "leader", "source", "target", "method"], "x")
    motion |= {
        "number": 1,
        "series": 1,
        "streak": 3,
        "members": ["vm:1"],
        "alternatives": [],
        "excluded": [],
        "after": 0.1,
    }
    for type_, payload in (
        ("balance.refused", {"reason": "balanced", "details": {}}),
        ("balance.refused", {"reason": "under_margin", "details": {"imbalance": 0.35}}),
        ("balance.series", {"number": 2, "reason": "moved"}),
        ("balance.motion", {**motion, "before": 0.5}),
        ("node.added", {}),
    ):
        moment.follow(Event(type_, "balance", "node1/crm", 1, payload))
        told.append(moment.imbalance)
    assert told == [None, 35, 35, 50, 50]
