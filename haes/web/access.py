"""Who may do what over HTTP: users by token, and what a browser is told so that no other page can act for them.

Reading needs nothing; the address that the page listens on decides who can. Acting needs a token of a user, sent in a
header, which no other site can make a browser do. Knows no command.
"""

import hashlib
import hmac
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from events.errors import UserError

# Everything comes from the page's own address; nothing is evaluated, framed or sent elsewhere.
HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# Characters of a token at least: nobody guesses that many.
SHORTEST_TOKEN = 20


class Tokens:
    """The users who may act, each by a token."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        # Only digests are kept and compared, so that comparing tells nothing of a token.
        self._users = {_digest(token): user for user, token in tokens.items()}

    def __bool__(self) -> bool:
        return bool(self._users)

    def user_of(self, authorization: str) -> str | None:
        """Returns whose token a header `Authorization: Bearer TOKEN` carries; None for nobody's."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        given = _digest(token.strip())
        found = None
        for digest, user in self._users.items():
            if hmac.compare_digest(digest, given):
                found = user
        return found


def read_tokens(path: Path) -> Tokens:
    """Returns the tokens of a file of lines `USER = "TOKEN"`, which its owner alone may read.

    Raises:
        UserError: the file cannot be read, others can read it, or a token is too short.
    """
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise UserError(f"{path}: others may read this file; chmod 600 it")
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise UserError(f"{path}: is no TOML ({error})") from error
    for user, token in given.items():
        if not isinstance(token, str) or len(token) < SHORTEST_TOKEN:
            raise UserError(f"{path}: the token of '{user}' must be a text of {SHORTEST_TOKEN} characters or more")
    return Tokens(given)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
