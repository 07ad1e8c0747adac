r"""The one way to a terminal: what users and programs wrote arrives there without anything that steers it.

Control characters, marks of direction and whatever else does not show become visible escapes such as `\x1b`. Standard
output and error are wrapped as a whole, so that no command has to think of it. JSON, which escapes by itself, is the
same before and after. Knows nothing of tables and colours: those are `show`'s, which writes below the wrapping and
cleans what it colours.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast
from unicodedata import category

# What may be something else than a letter, a number or a sign; nearly all output has none of it.
_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")
_SUSPECT_IN_LINE = re.compile(r"[^\x20-\x7e]")
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Code points below this are written with two digits, below the other with four.
_TWO_DIGITS, _FOUR_DIGITS = 0x100, 0x10000


def clean(text: str) -> str:
    """Returns a text of any number of lines as it may reach a terminal."""
    return _SUSPECT.sub(_visible, text)


def one_line(text: str) -> str:
    """Returns a text on one line: a break in it is shown, too, so that no name or reason makes up lines."""
    return _SUSPECT_IN_LINE.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    character = found.group()
    if character in _NAMED:
        return _NAMED[character]
    if character.isprintable() or category(character) == "Zs":
        return character
    code = ord(character)
    if code < _TWO_DIGITS:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _FOUR_DIGITS else f"\\U{code:08x}"


def say(*lines: str) -> None:
    """Prints lines on standard output."""
    _say(lines, sys.stdout)


def warn(*lines: str) -> None:
    """Prints lines on standard error."""
    _say(lines, sys.stderr)


def _say(lines: Iterable[str], stream: TextIO) -> None:
    for line in lines:
        print(one_line(line), file=stream)


class CleanStream:
    """A text stream that cleans what is written to it.

    Attributes:
        raw: the stream below, for those who know what they write.
    """

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Writes a text, cleaned."""
        self.raw.write(clean(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes several."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw_stream(stream: TextIO) -> TextIO:
    """Returns the stream below the wrapping, if there is one."""
    return stream.raw if isinstance(stream, CleanStream) else stream


@contextmanager
def clean_streams() -> Iterator[None]:
    """Wraps standard output and standard error for a while."""
    output, error = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", CleanStream(raw_stream(stream))) for stream in (output, error))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = output, error
