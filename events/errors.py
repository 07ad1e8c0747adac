"""What can go wrong between a program and its event log; knows nothing about HA.

The hierarchy follows who must act: `UserError` is ended with one line and exit status 2, `LogConflict` is answered by
reading on and deciding again, `LogFault` stops the reader that met it and is shown by name, never as an empty read.
"""


class HaesError(Exception):
    """Base of every error that HAES raises on purpose."""


class UserError(HaesError):
    """Something a user can mend; the message is one clear line that names file, key or value and what is allowed."""


class LogUnavailable(HaesError):
    """The log's server cannot be reached, or the connection broke before the outcome was known."""


class LogConflict(HaesError):
    """The append was refused and wrote nothing."""


class Fenced(LogConflict):
    """The writer's token is not the current one: somebody else holds the lease now."""


class StaleDecision(LogConflict):
    """A subject that the batch changes has moved on since the batch was decided; read on, decide again."""


class LeaseHeld(LogConflict):
    """The lease belongs to somebody else and has not run out."""


class LogFault(HaesError):
    """The log is not the one the reader knew, or an entry cannot be understood.

    Attributes:
        n: number of the event that was to be read next, 0 when the fault is not about one event.
        subject: whom that event is about, as far as the entry still tells; empty otherwise.
    """

    n: int = 0
    subject: str = ""


class LogMissing(LogFault):
    """The log is gone although the reader has a position in it."""


class LogForked(LogFault):
    """The log is another one, or lies behind the reader's position: its tail was lost."""


class LogTruncated(LogFault):
    """Entries that the reader has not seen were trimmed away."""


class EntryCorrupt(LogFault):
    """An entry cannot be decoded: not written by HAES, or damaged."""


class EventUnknown(LogFault):
    """An event type, or a version of one, that this program does not know."""
