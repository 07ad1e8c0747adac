"""Words are split and quoted so that nothing is lost on the way to a fence agent."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haes.fencing.words import quote_word, split_words, write_word

# A shell's argument can hold anything but the end of a text in C.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.text("ab=\\\"' \t!$~-#")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b\tc", ("a", "b", "c")),
        ('ip="10.0.0.1" x', ("ip=10.0.0.1", "x")),
        (r'password="1\"2\\3"', (r'password=1"2\3',)),
        (r"a\ b 'c d'", ("a b", "c d")),
        ("''", ("",)),
        ("'a'\"b\"c", ("abc",)),
        (r"'a\b'", (r"a\b",)),
    ],
)
def test_words_are_split_as_a_shell_does(text: str, words: tuple[str, ...]) -> None:
    """Blanks part words unless they are quoted or escaped, and quotes within a word belong to it."""
    assert split_words(text) == words


@pytest.mark.parametrize("text", ['password="1', "it's", "end\\"])
def test_a_quote_must_end(text: str) -> None:
    """A quote that is left open is refused, for the words behind it would silently be one."""
    with pytest.raises(ValueError, match="a quote is not closed"):
        split_words(text)


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("", "''"),
        ("a b", "'a b'"),
        ('1"2', "'1\"2'"),
        ("it's", r"'it'\''s'"),
        ("a''b", "'a'\"''\"'b'"),
        ("ü", "'ü'"),
        ("$(reboot)", "'$(reboot)'"),
        ("a;b", "'a;b'"),
    ],
)
def test_words_are_quoted_only_where_they_must_be(word: str, quoted: str) -> None:
    """Plain words stay readable; whatever a shell would act on is quoted."""
    assert quote_word(word) == quoted


@given(st.lists(TEXTS))
def test_a_shell_reads_quoted_words_back(words: list[str]) -> None:
    """However strange a word is, a shell gets exactly this word and nothing to act on."""
    assert shlex.split(" ".join(map(quote_word, words))) == words


@given(st.lists(TEXTS))
def test_written_words_are_split_again(words: list[str]) -> None:
    """However strange a word is, reading what was written gives exactly this word."""
    assert list(split_words(" ".join(map(write_word, words)))) == words


def test_only_the_value_is_quoted() -> None:
    """A parameter is written as people write it, its key without quotes."""
    assert write_word(r'password=1"2\3') == r'password="1\"2\\3"'
    assert write_word("ip=10.0.0.1") == "ip=10.0.0.1"
    assert write_word("a b=c") == '"a b=c"'
