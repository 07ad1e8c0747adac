"""The section format: what is accepted, and what is said about the rest."""

import pytest

from haes.rules.section_config import Key, parse_sections, write_section
from haes.rules.values import read_flag, read_text

SCHEMA = {"thing": {"size": Key(read_text, required=True), "odd": Key(read_flag)}}


def read(text: str) -> tuple[dict[str, dict[str, object]], list[str]]:
    """Returns the values of each usable section, and the problems as text."""
    sections, problems = parse_sections(text, "f.cfg", SCHEMA)
    return {item.id: item.values for item in sections if not item.missing}, [str(problem) for problem in problems]


def test_sections_comments_and_blank_lines() -> None:
    """Comments may stand anywhere, keys may be indented by any blanks, types are read in lower case."""
    text = "# first\n\nTHING: one\n\tsize  a b \n # between\n    odd\n\n\n\nthing:two\n\tsize 3"
    assert read(text) == ({"one": {"size": "a b", "odd": True}, "two": {"size": "3"}}, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gadget: one\n\tsize 1\n", "f.cfg: line 1: gadget: is no type of section; expected thing"),
        ("thing: 1x\n\tsize 1\n", "f.cfg: line 1: 1x: cannot be an id"),
        ("thing: x\n\tsize 1\n", "f.cfg: line 1: x: cannot be an id"),
        ("thing: one\n\todd 1\n", "f.cfg: line 1: size: is missing in 'thing: one'"),
        ("thing: one\n\tsize\n", "f.cfg: line 2: size: is ignored in 'thing: one': it has no value"),
        ("\tsize 1\n", "f.cfg: line 1: size 1: is ignored, because it belongs to no section"),
    ],
)
def test_what_makes_a_section_useless(text: str, problem: str) -> None:
    """A section without a good header, or without what it needs, is left out and named with its line."""
    sections, problems = read(text)
    assert sections == {}
    assert problems[0].startswith(problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("\tweight 3", "f.cfg: line 3: weight: is unknown in a thing section; known are odd, size"),
        ("\todd yes", "f.cfg: line 3: odd: is ignored in 'thing: one': 'yes' is neither 1 nor 0"),
        ("\tsize 2", "f.cfg: line 3: size: stands twice in 'thing: one'; the first one counts"),
        ("odd 1", "f.cfg: line 3: odd 1: is ignored, because it is not indented"),
        ("  ", "f.cfg: line 3: blank line: does not end the section"),
    ],
)
def test_what_makes_a_line_useless(line: str, problem: str) -> None:
    """A line that cannot be used is named, and the rest of its section counts."""
    sections, problems = read(f"thing: one\n\tsize 1\n{line}\n")
    assert sections == {"one": {"size": "1"}}
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_a_header_needs_an_empty_line_before_it() -> None:
    """A section that follows without an empty line is named, and its keys are not taken for new ones."""
    sections, problems = read("thing: one\n\tsize 1\nthing: two\n\tsize 2\n")
    assert sections == {"one": {"size": "1"}}
    assert problems[0].startswith("f.cfg: line 3: thing: two: is ignored with all its lines, because no empty line")


def test_a_bad_value_may_be_given_again() -> None:
    """The first value that can be read counts, not the first one that stands there."""
    assert read("thing: one\n\tsize 1\n\todd maybe\n\todd 0\n")[0] == {"one": {"size": "1", "odd": False}}


def test_sections_of_the_same_id() -> None:
    """The last section of an id counts and both keep a place, which is said."""
    sections, problems = parse_sections("thing: one\n\tsize 1\n\nthing: one\n\tsize 2\n", "f.cfg", SCHEMA)
    assert [(item.id, item.values) for item in sections] == [("one", {"size": "1"}), ("one", {"size": "2"})]
    assert str(problems[0]) == "f.cfg: line 4: one: replaces the section of line 1, of the same id"


def test_a_written_section_reads_back() -> None:
    """What is written is read as the same section."""
    assert read(write_section("thing", "one", {"size": "a b", "odd": "0"})) == (
        {"one": {"size": "a b", "odd": False}},
        [],
    )
