"""The section format: a header `type: id`, indented lines `key value`, an empty line; knows no type and no key.

Reading never stops at a mistake: what cannot be used is left out and becomes a `Problem`, so that callers can show it
or refuse the whole text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_COMMENT = re.compile(r"\s*#", re.ASCII)
_HEADER = re.compile(r"(\S+):\s*(\S+)\s*", re.ASCII)
_ENTRY = re.compile(r"\s+(\S+)(?:\s+(.*\S))?\s*", re.ASCII)
# Ids are names of things in other files and on command lines, therefore this narrow.
_ID = re.compile(r"[a-z][a-z0-9_-]+", re.ASCII | re.IGNORECASE)

# Turns the text behind a key, None where there is none, into a value; raises ValueError with what was expected instead.
Reader = Callable[[str | None], Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that was left out, or is doubtful, and why; line 0 stands for no certain place."""

    file: str
    line: int
    key: str
    text: str

    def __str__(self) -> str:
        """Says it in one line."""
        place = f"line {self.line}: " if self.line else ""
        return f"{self.file}: {place}{self.key}: {self.text}"


@dataclass(frozen=True, slots=True)
class Key:
    """How the value of a key is read, and whether a section is of no use without it."""

    read: Reader
    required: bool = False


# Type of section -> its keys.
Schema = Mapping[str, Mapping[str, Key]]


@dataclass(slots=True)
class Section:
    """One section of a known type.

    Attributes:
        type: the type, in lower case.
        id: the id.
        line: where its header stands, from 1.
        values: key -> value, for the keys whose values could be read.
        missing: required keys that have no value; with any of them the section keeps its place, but cannot be used.
    """

    type: str
    id: str
    line: int
    values: dict[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def parse_sections(text: str, file: str, schema: Schema) -> tuple[list[Section], list[Problem]]:
    """Reads sections.

    Args:
        text: what the file holds.
        file: its name, for the problems.
        schema: the types and keys that are known.

    Returns:
        The sections in order, without those of unknown type or invalid id; and what was left out or is doubtful.
        Of sections with the same id, the last one counts.
    """
    parser = _Parser(file, schema)
    for number, line in enumerate(text.split("\n"), 1):
        parser.feed(number, line)
    parser.close()
    return parser.sections, parser.problems


def write_section(kind: str, name: str, values: Mapping[str, str]) -> str:
    """Returns a section as text that ends with an empty line, its keys in the given order."""
    return "".join([f"{kind}: {name}\n", *(f"\t{key} {value}\n" for key, value in values.items()), "\n"])


class _Parser:
    """Takes lines, one by one, and keeps what they come to."""

    def __init__(self, file: str, schema: Schema) -> None:
        self.sections: list[Section] = []
        self.problems: list[Problem] = []
        self._file = file
        self._schema = schema
        self._inside = False
        # None inside a section that is left out as a whole.
        self._section: Section | None = None

    def feed(self, number: int, line: str) -> None:
        """Takes a line without its end."""
        if _COMMENT.match(line):
            return
        if not line:
            self.close()
        elif self._inside:
            self._entry(number, line)
        else:
            self._header(number, line)

    def close(self) -> None:
        """Ends the section that is open, if there is one."""
        section, self._section, self._inside = self._section, None, False
        if section is None:
            return
        keys = self._schema[section.type]
        section.missing = tuple(key for key in keys if keys[key].required and key not in section.values)
        for key in section.missing:
            self._complain(section.line, key, f"is missing in '{section.type}: {section.id}', which is left out")
        for other in self.sections:
            if other.id == section.id:
                self._complain(section.line, section.id, f"replaces the section of line {other.line}, of the same id")
        self.sections.append(section)

    def _complain(self, line: int, key: str, text: str) -> None:
        self.problems.append(Problem(self._file, line, key, text))

    def _header(self, number: int, line: str) -> None:
        header = _HEADER.fullmatch(line)
        if header is None:
            self._complain(number, line.strip(), "is ignored, because it belongs to no section")
            return
        self._inside = True
        kind, name = header[1].lower(), header[2]
        if kind not in self._schema:
            self._complain(number, kind, f"is no type of section; expected {' or '.join(sorted(self._schema))}")
        elif not _ID.fullmatch(name):
            text = "cannot be an id; expected a letter and then one or more letters, digits, '-' or '_'"
            self._complain(number, name, text)
        else:
            self._section = Section(kind, name, number)

    def _entry(self, number: int, line: str) -> None:
        entry = _ENTRY.fullmatch(line)
        section = self._section
        if entry is None:
            self._complain(number, *self._stray(line))
            return
        if section is None:
            return
        key, text = entry[1], entry[2]
        known = self._schema[section.type].get(key)
        if known is None:
            allowed = ", ".join(sorted(self._schema[section.type]))
            self._complain(number, key, f"is unknown in a {section.type} section; known are {allowed}")
        elif key in section.values:
            self._complain(number, key, f"stands twice in '{section.type}: {section.id}'; the first one counts")
        else:
            try:
                section.values[key] = known.read(text)
            except ValueError as error:
                self._complain(number, key, f"is ignored in '{section.type}: {section.id}': {error}")

    def _stray(self, line: str) -> tuple[str, str]:
        """Says what is wrong with a line inside a section that is no entry of it."""
        if not line.strip():
            # Blanks, or the end of a line as other systems write it, cannot be seen, but do not end a section.
            return "blank line", "does not end the section, because it is not empty: it holds blanks"
        if _HEADER.fullmatch(line):
            return line.strip(), "is ignored with all its lines, because no empty line stands before it"
        return line.strip(), "is ignored, because it is not indented"
