"""From a tree to a condition: every name and every type is checked here, so that judging a moment cannot fail.

What is not known is none: an attribute of a resource that does not exist, an imbalance that was not measured yet, a
division by zero. Reckoning with none gives none, ordering by it does not hold, and as a condition it does not hold.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from haes.settings import CRS_KEYS
from replay.language.moment import Moment
from replay.language.names import (
    BOOLEAN,
    EVENT,
    LOOK_UPS,
    NONE,
    NOTHING,
    NUMBER,
    NUMBERS,
    OVER_ALL,
    SETTING,
    TEXT,
    TEXTS,
    THINGS,
    VALUES,
    Kind,
    setting,
)
from replay.language.syntax import Attribute, Binary, Call, Comparison, Items, Literal, Name, Node, Unary, parse
from replay.language.tokens import wrong

# What a part of an expression does: the moment and the thing that is being counted in, to a value.
Get = Callable[[Moment, Any], Any]

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LISTS = {NUMBER: NUMBERS, TEXT: TEXTS}
_FUNCTIONS = ", ".join(
    [*(f'{name}("NAME")' for name in LOOK_UPS), f'{SETTING}("KEY")', *(f"{name}(...)" for name in OVER_ALL)]
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that was checked.

    Attributes:
        text: as it was written.
        holds: says whether it holds at a moment; never fails.
        names: bare names that it uses.
        asked: (kind, name) of the resources and nodes that it asks for by name.
    """

    text: str
    holds: Callable[[Moment], bool]
    names: frozenset[str]
    asked: frozenset[tuple[str, str]]


@dataclass(slots=True)
class _Compiler:
    """Compiles one expression; collects the names that it uses."""

    names: set[str] = field(default_factory=set)
    asked: set[tuple[str, str]] = field(default_factory=set)

    def part(self, node: Node, inside: Kind | None) -> tuple[str, Get]:
        """Returns type and getter of a part; `inside`: the kind whose attributes are bare names here."""
        match node:
            case Literal(value=value):
                return _type_of(value), lambda _moment, _key: value
            case Name():
                return self._name(node, inside)
            case Attribute():
                return self._attribute(node)
            case Call():
                return self._call(node)
            case Items():
                return self._items(node, inside)
            case Unary():
                return self._unary(node, inside)
            case Binary():
                return self._binary(node, inside)
            case Comparison():
                return self._comparison(node, inside)
        raise AssertionError(node)

    def condition(self, node: Node, inside: Kind | None) -> Get:
        """Returns the getter of a part that must be a condition."""
        type_, get = self.part(node, inside)
        if type_ not in {BOOLEAN, NONE}:
            raise wrong(
                node.column, f"expected a condition (true or false), this is {type_}; compare it with something"
            )
        return get

    def _name(self, node: Name, inside: Kind | None) -> tuple[str, Get]:
        name = node.name
        if inside is not None and name in inside.attributes:
            value = inside.attributes[name]
            return value.type, value.get
        if name in VALUES:
            self.names.add(name)
            return VALUES[name].type, VALUES[name].get
        if name in THINGS:
            raise wrong(node.column, f"'{name}' are many; ask count({name}, CONDITION), any(...) or all(...)")
        if name == EVENT.name:
            raise wrong(node.column, f"'{name}' needs an attribute: {_attributes(EVENT)}")
        if name in {*LOOK_UPS, SETTING, *OVER_ALL}:
            raise wrong(node.column, f"'{name}' is a function and needs brackets; there are {_FUNCTIONS}")
        here = "" if inside is None else f"{', '.join(inside.attributes)} (of each {inside.name}), "
        known = ", ".join([*VALUES, *(f"event.{attribute}" for attribute in EVENT.attributes)])
        raise wrong(node.column, f"unknown name '{name}'; known are {here}{known}, {_FUNCTIONS}")

    def _attribute(self, node: Attribute) -> tuple[str, Get]:
        kind, key = self._thing(node.of, node.column)
        value = kind.attributes.get(node.name)
        if value is None:
            raise wrong(node.column, f"a {kind.name} has no '{node.name}'; known are {_attributes(kind)}")
        get = value.get
        return value.type, lambda moment, _key: get(moment, key)

    def _thing(self, node: Node, column: int) -> tuple[Kind, str]:
        """Returns the kind and the name of the thing that stands before a dot."""
        if isinstance(node, Name) and node.name == EVENT.name:
            self.names.add(node.name)
            return EVENT, ""
        if isinstance(node, Call) and node.name in LOOK_UPS:
            name = self._word(node)
            self.asked.add((node.name, name))
            return LOOK_UPS[node.name], name
        looked_up = " and ".join(f'{name}("NAME")' for name in LOOK_UPS)
        raise wrong(column, f"only {looked_up} and event have attributes")

    def _word(self, node: Call) -> str:
        """Returns the one argument of a look-up, which is written out, so that it can be checked."""
        if len(node.arguments) == 1:
            [argument] = node.arguments
            if isinstance(argument, Literal) and isinstance(argument.value, str):
                return argument.value
        raise wrong(node.column, f'{node.name} needs one text in quotes: {node.name}("NAME")')

    def _call(self, node: Call) -> tuple[str, Get]:
        if node.name in OVER_ALL:
            return self._over_all(node)
        if node.name == SETTING:
            name = self._word(node)
            value = setting(name)
            if value is None:
                raise wrong(node.column, f"unknown setting '{name}'; known are {', '.join(CRS_KEYS)}")
            return value.type, value.get
        if node.name in LOOK_UPS:
            kind = LOOK_UPS[node.name]
            raise wrong(node.column, f"{node.name}(...) needs an attribute: {_attributes(kind)}")
        raise wrong(node.column, f"unknown function '{node.name}'; known are {_FUNCTIONS}")

    def _over_all(self, node: Call) -> tuple[str, Get]:
        first = node.arguments[0] if node.arguments else None
        allowed = 1 if node.name == "count" else 2
        if not isinstance(first, Name) or first.name not in THINGS or not allowed <= len(node.arguments) <= 2:  # noqa: PLR2004
            of = ", ".join(THINGS)
            raise wrong(
                node.column,
                f"{node.name} needs what to look at and a condition: {node.name}(ALL, CONDITION); ALL is {of}",
            )
        things = THINGS[first.name]
        type_, combine = OVER_ALL[node.name]
        if len(node.arguments) == 1:
            return type_, lambda moment, _key: len(things.keys(moment))
        holds = self.condition(node.arguments[1], things.kind)
        return type_, lambda moment, _key: combine([bool(holds(moment, key)) for key in things.keys(moment)])

    def _items(self, node: Items, inside: Kind | None) -> tuple[str, Get]:
        parts = [(item, *self.part(item, inside)) for item in node.items]
        types = {type_ for _, type_, _ in parts}
        if not types:
            return NOTHING, lambda _moment, _key: []
        type_ = next(iter(types))
        if len(types) > 1 or type_ not in _LISTS:
            raise wrong(node.column, "a list holds numbers only or texts only")
        getters = [get for _, _, get in parts]
        return _LISTS[type_], lambda moment, key: [get(moment, key) for get in getters]

    def _unary(self, node: Unary, inside: Kind | None) -> tuple[str, Get]:
        if node.operator == "not":
            holds = self.condition(node.operand, inside)
            return BOOLEAN, lambda moment, key: not holds(moment, key)
        get = self._number(node.operand, inside, node.operator)
        sign = -1 if node.operator == "-" else 1

        def signed(moment: Moment, key: Any) -> Any:
            value = get(moment, key)
            return None if value is None else sign * value

        return NUMBER, signed

    def _number(self, node: Node, inside: Kind | None, where: str) -> Get:
        type_, get = self.part(node, inside)
        if type_ not in {NUMBER, NONE}:
            raise wrong(node.column, f"'{where}' needs numbers, this is {type_}")
        return get

    def _binary(self, node: Binary, inside: Kind | None) -> tuple[str, Get]:
        if node.operator in {"and", "or"}:
            left, right = (self.condition(part, inside) for part in (node.left, node.right))
            if node.operator == "and":
                return BOOLEAN, lambda moment, key: bool(left(moment, key) and right(moment, key))
            return BOOLEAN, lambda moment, key: bool(left(moment, key) or right(moment, key))
        one, other = (self._number(part, inside, node.operator) for part in (node.left, node.right))
        reckon = _ARITHMETIC[node.operator]
        return NUMBER, lambda moment, key: _reckoned(reckon, one(moment, key), other(moment, key))

    def _comparison(self, node: Comparison, inside: Kind | None) -> tuple[str, Get]:
        parts = [self.part(operand, inside) for operand in node.operands]
        tests = [
            _test(sign, column, left, right)
            for (sign, column), left, right in zip(node.operators, parts, parts[1:], strict=False)
        ]
        if len(tests) == 1:
            return BOOLEAN, tests[0]
        return BOOLEAN, lambda moment, key: all(test(moment, key) for test in tests)


def _test(sign: str, column: int, left: tuple[str, Get], right: tuple[str, Get]) -> Get:
    """Returns one comparison between two parts, after checking that their types can be compared."""
    (left_type, one), (right_type, other) = left, right
    types = {left_type, right_type} - {NONE}
    if sign in _ORDER:
        if len(types) > 1 or not types <= {NUMBER, TEXT}:
            raise wrong(column, f"'{sign}' needs two numbers or two texts, here are {left_type} and {right_type}")
        compare = _ORDER[sign]

        def ordered(moment: Moment, key: Any) -> bool:
            first, second = one(moment, key), other(moment, key)
            return first is not None and second is not None and compare(first, second)

        return ordered
    if sign in {"==", "!="}:
        lists = types & {NUMBERS, TEXTS}
        if len(types - {NOTHING} if lists else types) > 1:
            raise wrong(column, f"{left_type} and {right_type} are never equal")
        wanted = sign == "=="
        return lambda moment, key: (one(moment, key) == other(moment, key)) is wanted
    fits = right_type in {_LISTS.get(left_type), NOTHING, NONE} or (left_type == TEXT and right_type == TEXT)
    if left_type == NONE or not fits or left_type not in _LISTS:
        raise wrong(
            column, f"'{sign}' needs a number or text and a list of such, here are {left_type} and {right_type}"
        )
    wanted = sign == "in"

    def member(moment: Moment, key: Any) -> bool:
        item, items = one(moment, key), other(moment, key)
        return (item is not None and items is not None and item in items) is wanted

    return member


def _reckoned(reckon: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    try:
        return reckon(left, right)
    except (ZeroDivisionError, OverflowError):
        return None


def _type_of(value: float | str | bool | None) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return BOOLEAN
    return TEXT if isinstance(value, str) else NUMBER


def _attributes(kind: Kind) -> str:
    return ", ".join(kind.attributes)


def compile_condition(text: str) -> Condition:
    """Returns the condition that a text is.

    Raises:
        UserError: it is none; the message names the column, what is wrong there and what is allowed.
    """
    compiler = _Compiler()
    get = compiler.condition(parse(text), None)
    return Condition(
        text,
        lambda moment: bool(get(moment, None)),
        frozenset(compiler.names),
        frozenset(compiler.asked),
    )
