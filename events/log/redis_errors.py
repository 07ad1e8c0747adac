"""What the Redis client raises, told as errors of HAES in one line; the only place that knows its exceptions.

Who must act decides: what a user can mend becomes a `UserError`, everything else `LogUnavailable`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from redis import exceptions

from events.errors import HaesError, LogUnavailable, UserError

# What the client and the sockets below it raise.
CLIENT_ERRORS = (exceptions.RedisError, OSError, TimeoutError)

_HIDDEN = "***"
_PASSWORD_IN_QUERY = re.compile(r"([?&][^=&]*password=)[^&#]*")
# First words of replies that say that a user's rights or password are wrong.
_RIGHTS = ("NOAUTH", "WRONGPASS", "NOPERM")


def hide_password(url: str) -> str:
    """Returns a URL that can be shown: without its password, wherever it stands."""
    place = urlsplit(url).netloc
    if "@" in place:
        user, _, host = place.rpartition("@")
        name, colon, _ = user.partition(":")
        url = url.replace(place, f"{name}:{_HIDDEN}@{host}" if colon else place, 1)
    return _PASSWORD_IN_QUERY.sub(rf"\1{_HIDDEN}", url)


def translate(error: BaseException, shown: str) -> HaesError:
    """Returns the error of HAES for one of the client's.

    Args:
        error: what the client raised.
        shown: the log's URL without its password.
    """
    # What goes wrong while a connection is made arrives wrapped.
    while type(error) is exceptions.ConnectionError and isinstance(error.__cause__, exceptions.RedisError):
        error = error.__cause__
    reason = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, exceptions.AuthenticationError | exceptions.NoPermissionError) or reason.startswith(_RIGHTS):
        return UserError(f"{shown}: the server refuses the user or the password ({reason})")
    if "WRONGTYPE" in reason:
        return UserError(f"{shown}: a key of the log holds something that is not of HAES; use another cluster name")
    if isinstance(error, exceptions.InvalidResponse):
        return UserError(f"{shown}: what answers there is not a Redis server ({reason})")
    if "DB index" in reason or "invalid DB" in reason:
        return UserError(f"{shown}: the server has no such database number")
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return LogUnavailable(f"{shown}: the server did not answer in time ({reason})")
    return LogUnavailable(f"{shown}: {reason}")


def is_unanswered(error: BaseException) -> bool:
    """Says whether a command may have been carried out although no reply came."""
    refused = exceptions.AuthenticationError | exceptions.BusyLoadingError | exceptions.ResponseError
    return not isinstance(error, refused)


@contextmanager
def translated(shown: str) -> Iterator[None]:
    """Raises what the client raises within the block as an error of HAES."""
    try:
        yield
    except CLIENT_ERRORS as error:
        raise translate(error, shown) from error
