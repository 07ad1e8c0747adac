"""From tokens to a tree, by operator precedence as in Python; knows no names and no types."""

from collections.abc import Callable
from dataclasses import dataclass

from replay.language.tokens import END, NUMBER, SYMBOL, TEXT, WORD, Token, tokenize, wrong

# Levels of a tree: deeper than anybody nests, and far from what would exhaust this program's stack.
DEEPEST = 50
# Digits of a number: what a float tells apart, and more than any number of an event or a time has.
MOST_DIGITS = 17


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression; `column` is where a message points to, `depth` counts the levels below and itself."""

    column: int
    depth: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, a text, true, false or none."""

    value: float | str | bool | None


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A bare name."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """What stands before a dot, and the name after it."""

    of: Node
    name: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A name with arguments in brackets."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Items(Node):
    """A list in square brackets."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`not`, or a sign, before an operand."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`and`, `or`, or arithmetic between two operands."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """A chain of comparisons: each holds between its neighbours, and the whole when all do."""

    operands: tuple[Node, ...]
    operators: tuple[tuple[str, int], ...]


_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
_RESERVED = frozenset({"and", "or", "not", "in", *_CONSTANTS})
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "not in"})
# How strongly operators bind; `not` binds its operand up to a comparison, a sign up to an attribute.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _ATTRIBUTE = range(1, 9)
_BINDS = {"or": _OR, "and": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, ".": _ATTRIBUTE}


def parse(text: str) -> Node:
    """Returns the tree of an expression.

    Raises:
        UserError: the text is no expression; the message names the column.
    """
    parser = _Parser(tokenize(text))
    node = parser.expression(0)
    parser.expect_end()
    return node


def _level(column: int, *below: Node) -> int:
    depth = 1 + max((node.depth for node in below), default=0)
    if depth > DEEPEST:
        raise wrong(column, f"nested deeper than {DEEPEST} levels")
    return depth


class _Parser:
    """Walks through tokens once."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._nested = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        # The end is never passed.
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def _is(self, *texts: str) -> bool:
        token = self._next
        if token.kind == SYMBOL:
            return token.text in texts
        return token.kind == WORD and token.text.lower() in texts and token.text.lower() in _RESERVED

    def _accept(self, text: str) -> bool:
        found = self._is(text)
        if found:
            self._take()
        return found

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise wrong(self._next.column, f"expected '{text}', found {self._next.shown()}")

    def expect_end(self) -> None:
        """Refuses what comes after a whole expression."""
        if self._next.kind != END:
            raise wrong(self._next.column, f"expected an operator or the end, found {self._next.shown()}")

    def expression(self, binding: int) -> Node:
        """Reads operands and the operators between them that bind more strongly than asked."""
        self._nested += 1
        if self._nested > DEEPEST:
            raise wrong(self._next.column, f"nested deeper than {DEEPEST} levels")
        node = self._operand()
        while (step := self._operator(binding)) is not None:
            node = step(node)
        self._nested -= 1
        return node

    def _operand(self) -> Node:
        token = self._take()
        column = token.column
        if token.kind == NUMBER:
            return Literal(column, 1, _number(token))
        if token.kind == TEXT:
            return Literal(column, 1, token.text)
        if token.kind == WORD:
            return self._word(token)
        match token.text:
            case "(":
                node = self.expression(0)
                self._expect(")")
                return node
            case "[":
                items = self._arguments("]")
                return Items(column, _level(column, *items), items)
            case "-" | "+":
                operand = self.expression(_SIGN)
                return Unary(column, _level(column, operand), token.text, operand)
            case _:
                raise wrong(column, f"expected a name, a number, a text, '(' or '[', found {token.shown()}")

    def _word(self, token: Token) -> Node:
        column, word = token.column, token.text.lower()
        if word in _CONSTANTS:
            return Literal(column, 1, _CONSTANTS[word])
        if word == "not":
            operand = self.expression(_NOT)
            return Unary(column, _level(column, operand), word, operand)
        if word in _RESERVED:
            raise wrong(column, f"expected a name, a number, a text, '(' or '[', found '{token.text}'")
        if self._accept("("):
            arguments = self._arguments(")")
            return Call(column, _level(column, *arguments), token.text, arguments)
        return Name(column, 1, token.text)

    def _arguments(self, end: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._accept(end):
            if found:
                self._expect(",")
            found.append(self.expression(0))
        return tuple(found)

    def _operator(self, binding: int) -> Callable[[Node], Node] | None:
        """Returns how the next operator goes on from what stands before it, None when it is not for this place."""
        token = self._next
        if self._is(*_COMPARISONS, "not"):
            return self._comparison if binding < _COMPARE else None
        binds = _BINDS.get(token.text.lower(), 0) if self._is(*_BINDS) else 0
        if binds <= binding:
            return None
        return self._attribute if token.text == "." else self._binary

    def _binary(self, left: Node) -> Node:
        token = self._take()
        operator = token.text.lower()
        right = self.expression(_BINDS[operator])
        return Binary(token.column, _level(token.column, left, right), operator, left, right)

    def _attribute(self, of: Node) -> Node:
        self._take()
        token = self._take()
        if token.kind != WORD:
            raise wrong(token.column, f"expected a name after '.', found {token.shown()}")
        return Attribute(token.column, _level(token.column, of), of, token.text)

    def _comparison(self, first: Node) -> Node:
        operands, operators = [first], []
        while self._is(*_COMPARISONS, "not"):
            token = self._take()
            operator = token.text.lower()
            if operator == "not":
                self._expect("in")
                operator = "not in"
            operators.append((operator, token.column))
            operands.append(self.expression(_COMPARE))
        column = operators[0][1]
        return Comparison(column, _level(column, *operands), tuple(operands), tuple(operators))


def _number(token: Token) -> float:
    if sum(sign.isdigit() for sign in token.text) > MOST_DIGITS:
        raise wrong(token.column, f"a number has at most {MOST_DIGITS} digits")
    return int(token.text) if token.text.isdigit() else float(token.text)
