"""The last lines that a service printed, as they may go on record: few, short, plain, and without secrets.

Whoever prints decides what is printed: nothing of it may command a terminal, and what looks like a secret is masked
rather than kept for as long as the record lasts.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping

# Lines, and characters of one: enough for the end of a traceback, little enough for an event.
LINES, LINE_LENGTH = 10, 200
MASK = "***"
# Shorter values of a secret variable are words that occur anywhere.
SHORTEST_SECRET = 4

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b.?", re.DOTALL)
_TELLING = "passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|private[_-]?key|credential|authorization"
_NAMED = rf"[\w.-]*(?:{_TELLING})[\w.-]*"
_IS_SECRET_NAME = re.compile(rf"(?:{_NAMED}|.*_key|key)", re.IGNORECASE)
_ASSIGNED = re.compile(rf"""(?i)((?:["']?\b{_NAMED}["']?\s*[:=]\s*)|(?:--{_NAMED}\s+))("[^"]*"|'[^']*'|[^\s,;&"']+)""")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}")
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@]*@", re.IGNORECASE)
# Control and formatting characters (bidirectional marks among them), surrogates, characters of no meaning, separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# A long word of letters and digits mixed is a key, a hash, a session or a token; nobody needs it to see what happened.
_LONG_WORD = re.compile(r"(?=[A-Za-z0-9+/_=-]*\d)(?=[A-Za-z0-9+/_=-]*[A-Za-z])[A-Za-z0-9+_=-][A-Za-z0-9+/_=-]{23,}")
_PRIVATE_BEGIN, _PRIVATE_END = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"), re.compile(r"-----END [A-Z ]*PRIVATE KEY")


def is_secret_name(name: str) -> bool:
    """Says whether a variable's name tells that its value is secret."""
    return _IS_SECRET_NAME.fullmatch(name) is not None


def secrets_of(environment: Mapping[str, str]) -> list[str]:
    """Returns the values of variables whose names say that they are secret, longest first."""
    found = {value for name, value in environment.items() if len(value) >= SHORTEST_SECRET and is_secret_name(name)}
    return sorted(found, key=lambda value: (-len(value), value))


def plain(text: str) -> str:
    """Returns a line without anything that a terminal would act on: escapes, control and formatting characters."""
    kept = _ESCAPES.sub("", text.replace("\t", " "))
    return "".join(char for char in kept if unicodedata.category(char) not in _UNSEEN)


def masked(line: str, secrets: Collection[str] = ()) -> str:
    """Returns a line without what looks like a secret."""
    for secret in secrets:
        line = line.replace(secret, MASK)
    line = _IN_URL.sub(rf"\1{MASK}@", line)
    line = _BEARER.sub(rf"\1 {MASK}", line)
    line = _ASSIGNED.sub(rf"\1{MASK}", line)
    return _LONG_WORD.sub(MASK, line)


def clean(
    data: bytes,
    secrets: Collection[str] = (),
    *,
    whole: bool = True,
    lines: int = LINES,
    length: int = LINE_LENGTH,
) -> list[str]:
    """Returns the last lines of an output.

    Args:
        data: its last bytes.
        secrets: values that must not be shown.
        whole: the bytes begin with a line; otherwise the first one may be the second half of a secret and is dropped.
        lines: how many.
        length: characters of one line.
    """
    found = []
    texts = re.split(r"\r\n|[\n\r\v\f\x85\u2028\u2029]", data.decode(errors="replace"))
    private = False
    for text in texts if whole else texts[1:]:
        line = plain(text).strip()
        begins = bool(_PRIVATE_BEGIN.search(line))
        private = private or begins
        if line:
            found.append((MASK if private else masked(line, secrets))[:length])
        private = private and not _PRIVATE_END.search(line)
    return found[-lines:]
