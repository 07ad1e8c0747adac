"""Words of a command line: split as a shell does, quoted for one, and written to be split again; knows no device.

Quoting for a shell follows what people know from logs: words of plain characters stand as they are, others in single
quotes. A backslash within those means something else to `split_words`, which is why `write_word` uses double quotes.
"""

import re

_PIECE = re.compile(
    r"""
      "(?P<double>(?:[^\\"]|\\.)*)"
    | '(?P<single>(?:[^\\']|\\.)*)'
    | (?P<plain>(?:[^\\"'\s]|\\.)+)
    | (?P<gap>\s+)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PLAIN_WORD = re.compile(r"[\w!%+,\-./:@^]+", re.ASCII)
_QUOTES = re.compile(r"(?:'\\''){2,}")


def split_words(text: str) -> tuple[str, ...]:
    r"""Splits at blanks that are not quoted.

    Outside quotes and within double quotes a backslash stands for the character behind it; within single quotes it
    stays, and keeps a quote behind it from ending them.

    Raises:
        ValueError: a quote is not closed, or nothing follows a backslash.
    """
    words: list[str] = []
    position = 0
    within_word = False
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            raise ValueError(f"a quote is not closed in {text[position:]}")
        position = piece.end()
        if piece["gap"] is not None:
            within_word = False
            continue
        if not within_word:
            words.append("")
            within_word = True
        words[-1] += _meaning(piece)
    return tuple(words)


def _meaning(piece: re.Match[str]) -> str:
    if piece["single"] is not None:
        return piece["single"]
    return _ESCAPED.sub(r"\1", piece["plain"] if piece["double"] is None else piece["double"])


def quote_word(word: str) -> str:
    """Returns a word as a shell reads it back."""
    if _PLAIN_WORD.fullmatch(word):
        return word
    # A quote cannot stand within single quotes: it ends them, stands escaped, and begins them again.
    body = word.replace("'", r"'\''")
    # Several in a row are easier to read in double quotes.
    body = _QUOTES.sub(lambda run: "'\"" + "'" * (len(run[0]) // 4) + "\"'", body)
    quoted = f"'{body}'"
    if word.startswith("'"):
        quoted = quoted.removeprefix("''")
    if word.endswith("'"):
        quoted = quoted.removesuffix("''")
    return quoted or "''"


def write_word(word: str) -> str:
    """Returns a word as `split_words` reads it back; of `key=value` only the value is quoted, as people write it."""
    key, equals, value = word.partition("=")
    if equals and value and _PLAIN_WORD.fullmatch(key):
        return f"{key}={_in_double_quotes(value)}"
    return _in_double_quotes(word)


def _in_double_quotes(word: str) -> str:
    if _PLAIN_WORD.fullmatch(word):
        return word
    body = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{body}"'
