"""What a text, a number or a nest of values from outside may be at most; knows nothing of what they mean.

Other clients write beside this program's own: whatever passes here can be put into an event and shown. The same bounds
hold at the door, where somebody writes, and where it is read.
"""

import json
from collections.abc import Sequence
from typing import Any

# Bytes of all words of a request: the rules of ten thousand resources fit eight times.
LONGEST_REQUEST = 1024 * 1024
# Bytes of a verb and of the name of a user: a few times the longest real one.
LONGEST_NAME = 200
# Words after a verb: four times what any verb takes.
MOST_ARGUMENTS = 8
# Tables within tables: three times what any value needs, far below what a program can follow.
DEEPEST = 16
# Seconds that a stop may be given by a command: a day, as for every other time that a command names.
LONGEST_STOP = 86400
# Characters of a problem that are kept: enough to see what is meant.
LONGEST_PROBLEM = 500


def problem_with_text(what: str, text: str, longest: int) -> str | None:
    """Says why a text cannot be taken, None if it can.

    Args:
        what: what it is, for the message.
        text: the text.
        longest: bytes that it may have in UTF-8.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return f"{what} '{shown(text, 80)}' is no valid UTF-8"
    if size > longest:
        return f"{what} has {size} bytes; allowed are {longest}"
    return None


def problem_with_request(verb: str, arguments: Sequence[str]) -> str | None:
    """Says why a request cannot be taken, whatever it asks for; None if it can."""
    if len(arguments) > MOST_ARGUMENTS:
        return f"the request has {len(arguments)} arguments; allowed are {MOST_ARGUMENTS}"
    problem = problem_with_text("the verb", verb, LONGEST_NAME)
    left = LONGEST_REQUEST
    for argument in arguments:
        problem = problem or problem_with_text("an argument", argument, LONGEST_REQUEST)
        if problem is None:
            left -= len(argument.encode())
    if problem is None and left < 0:
        return f"the request has {LONGEST_REQUEST - left} bytes; allowed are {LONGEST_REQUEST}"
    return problem


def shown(text: object, longest: int = LONGEST_PROBLEM) -> str:
    """Returns what can be put into any event and onto any screen: valid UTF-8, on one line, not too long."""
    clean = " ".join(str(text).encode(errors="backslashreplace").decode().split())
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def shown_error(error: Exception) -> str:
    """Returns what went wrong in one short line."""
    return shown(f"{type(error).__name__}: {error}", LONGEST_PROBLEM // 2)


def read_json(text: str | bytes) -> Any:
    """Returns the value of a JSON text whose numbers are numbers and whose nest is not too deep.

    Raises:
        ValueError: it is none.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from None
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        level = [inner for item in level if isinstance(item, dict | list) for inner in _inside(item)]
    return value


def _inside(item: dict[str, Any] | list[Any]) -> Sequence[Any]:
    return list(item.values()) if isinstance(item, dict) else item


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
