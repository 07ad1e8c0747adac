"""What a service printed last, as it goes on record: plain, short, and without what looks like a secret."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haes.drivers.process.tail import LINE_LENGTH, LINES, clean, secrets_of


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("listening on port 8080", "listening on port 8080"),
        ("\x1b[31mred\x1b[0m and \x1b]0;title\x07plain", "red and plain"),
        ("\u202egnp.exe\u202c", "gnp.exe"),
        ("DB_PASSWORD=hunter2 failed", "DB_PASSWORD=*** failed"),
        ('{"token": "abc", "a": 1}', '{"token": ***, "a": 1}'),
        ("Authorization: Bearer abcdef123456", "Authorization: *** ***"),
        ("run --password hunter2 --fast", "run --password *** --fast"),
        ("connect to postgres://joe:pw@db/x", "connect to postgres://***@db/x"),
        ("key AKIAIOSFODNN7EXAMPLEKEY99 refused", "key *** refused"),
        ("the secret is swordfish", "the secret is ***"),
        ("authentication failed", "authentication failed"),
    ],
)
def test_a_line_is_shown_without_secrets_and_controls(printed: str, shown: str) -> None:
    """What a terminal would act on is gone, what looks like a secret or is one is masked, the rest stays."""
    assert clean(printed.encode(), ["swordfish"]) == [shown]


def test_only_variables_with_telling_names_are_secrets() -> None:
    """A port or a path may be shown; short values are words that occur anywhere."""
    environment = {"API_TOKEN": "abcdef", "PORT": "8080", "HOME": "/root", "KEY": "no", "SSH_KEY": "longer-one"}
    assert secrets_of(environment) == ["longer-one", "abcdef"]


def test_a_private_key_is_masked_as_a_whole() -> None:
    """No line between its first and its last is shown."""
    text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nxyz\n-----END RSA PRIVATE KEY-----\nb"
    assert clean(text.encode()) == ["a", "***", "***", "***", "***", "b"]


def test_half_a_line_is_not_shown() -> None:
    """Where the beginning was cut off, the rest of that line may be the second half of a secret."""
    assert clean(b"nter2\nsecond", whole=False) == ["second"]


@given(st.binary(max_size=3000), st.booleans())
def test_whatever_is_printed_comes_out_short_and_plain(data: bytes, whole: bool) -> None:
    """No bytes lead to more or longer lines, or to anything but printable characters."""
    lines = clean(data, ["ab"], whole=whole)
    assert len(lines) <= LINES
    for line in lines:
        assert 0 < len(line) <= LINE_LENGTH
        assert all(unicodedata.category(char)[0] != "C" for char in line)
        line.encode()
