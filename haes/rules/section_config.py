"""The section format: a header `type: id`, then indented lines `key value`; knows no type and no key."""

import re
from dataclasses import dataclass, field

_HEADER = re.compile(r"^(\S+):\s*(\S+)\s*$")
_PROPERTY = re.compile(r"^\s+(\S+)(?:\s+(.*?))?\s*$")


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


@dataclass(slots=True)
class Section:
    """One section: type, id, its properties, and where it begins."""

    type: str
    id: str
    line: int
    properties: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def parse_sections(text: str, file: str) -> tuple[list[Section], list[Problem]]:
    """Returns the sections in order, and what could not be understood."""
    sections: list[Section] = []
    problems: list[Problem] = []
    current: Section | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            current = None
            continue
        if line.lstrip().startswith("#"):
            continue
        header = _HEADER.match(line)
        if header:
            current = Section(header[1].lower(), header[2], number)
            sections.append(current)
            continue
        entry = _PROPERTY.match(line)
        if current is None or entry is None:
            problems.append(Problem(file, number, line.strip(), "does not belong to a section"))
        elif entry[1] in current.properties:
            problems.append(Problem(file, number, entry[1], f"is given twice in section '{current.id}'"))
        else:
            current.properties[entry[1]] = entry[2] or ""
            current.lines[entry[1]] = number
    return sections, problems


def split_list(value: str) -> list[str]:
    """Splits a list at commas, semicolons and blanks."""
    return [item for item in re.split(r"[,;\s]+", value) if item]
