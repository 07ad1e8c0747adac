"""From a text to tokens with their columns; knows which signs there are, not what they mean together."""

import re
from dataclasses import dataclass

from events.errors import UserError

# Characters of an expression: several times what anybody types, little enough to be checked at once.
LONGEST = 2000
NUMBER, TEXT, WORD, SYMBOL, END = "number", "text", "word", "symbol", "end"

_TOKEN = re.compile(
    r"""
      (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<text>"[^"\n\r]*"|'[^'\n\r]*')
    | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<symbol>==|!=|<=|>=|[<>+\-*/(),.\[\]])
    """,
    re.VERBOSE | re.ASCII,
)
_BLANK = re.compile(r"[ \t\r\n]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    """One sign: its kind, its text without quotes, and its column, from 1."""

    kind: str
    text: str
    column: int

    def shown(self) -> str:
        """Returns the token as it is named in a message."""
        return "the end" if self.kind == END else f"'{self.text}'"


def wrong(column: int, problem: str) -> UserError:
    """Returns the error that names a place in an expression."""
    return UserError(f"expression, column {column}: {problem}")


def tokenize(text: str) -> list[Token]:
    """Returns the tokens of a text; the last is the end.

    Raises:
        UserError: the text is too long, or has a character that belongs to nothing.
    """
    if len(text) > LONGEST:
        raise wrong(LONGEST + 1, f"longer than {LONGEST} characters")
    tokens: list[Token] = []
    place = 0
    while (place := _skip(text, place)) < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise wrong(place + 1, _unknown(text[place]))
        kind = match.lastgroup or SYMBOL
        said = match[0][1:-1] if kind == TEXT else match[0]
        tokens.append(Token(kind, said, place + 1))
        place = match.end()
    return [*tokens, Token(END, "", len(text) + 1)]


def _skip(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return place if blank is None else blank.end()


def _unknown(sign: str) -> str:
    if sign in "\"'":
        return f"a text that begins with {sign} does not end"
    if sign == "=":
        return "'=' is nothing; equal is '=='"
    return f"{sign!r} is nothing; allowed are names, numbers, texts in quotes, and == != < <= > >= + - * / ( ) [ ] , ."
