"""The same fold as in fold.py, on undecoded entries and several times as fast; decides nothing, applies by its rules.

What costs time in replay is not the handlers but everything before them. So an entry that looks as the append script
writes it is taken apart in place: no Event is made, names are decoded once, and the payload only where a handler reads
it. Every other entry (an older schema version, a late fact, anything unusual) takes the ordinary way, which also says
what is wrong with it. Whether unread payloads can be decoded is for `haes verify` to find out.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from inspect import signature
from typing import Any

import msgspec

from events.codec import FIELDS, decode_time
from events.log.checks import decode_after
from events.log.port import RawEntry
from events.schema import SCHEMAS
from haes.machines import IllegalTransition
from haes.state.cluster import ClusterState
from haes.state.fold import HANDLERS, Handler, apply_event
from haes.state.records import Parked

# What the packed data of an event that is not late begins with, and its length: an array of five, the version (up to
# 127 it is one byte), and that it is not late.
_NOT_LATE = b"\x95%c\xc2"
_BEGIN = 3

# The current version of a type, how its data begins, its handler, whether that reads the payload, the type's name.
_Type = tuple[int, bytes, Handler | None, bool, str]
_unpack: Callable[[bytes], Any] = msgspec.msgpack.Decoder(tuple[int, bool, Any, Any, dict[str, Any]]).decode
# Reads many numbers at once, in half the time that `int` takes for each.
_numbers = msgspec.json.Decoder(list[int]).decode
# A comma is in none of the names, so that joined names are equal only when each of them is.
_joined = b",".join


@cache
def _expected_names(count: int) -> list[bytes]:
    return [_joined([name] * count) for name in FIELDS]


def reads_payload(handler: Handler) -> bool:
    """Says whether a handler looks at the payload: one that does not says so by the name of its parameter."""
    _, _, payload, _ = signature(handler).parameters
    return not payload.startswith("_")


class _Names(dict[bytes, str]):
    """Subjects as text, each decoded once; a state then keeps a single copy of every name."""

    def __missing__(self, raw: bytes) -> str:
        name = self[raw] = raw.decode()
        return name


class _Types(dict[bytes, _Type]):
    """What the fold has to know of each event type.

    For a type that this program does not know data begins with nothing, which no entry's does.
    """

    def __missing__(self, raw: bytes) -> _Type:
        name = raw.decode()
        schema, handler = SCHEMAS.get(name), HANDLERS.get(name)
        if schema is None:
            entry: _Type = 0, b"", None, False, name
        else:
            reads = handler is not None and reads_payload(handler)
            entry = schema.version, _NOT_LATE % schema.version, handler, reads, name
        self[raw] = entry
        return entry


class RawFold:
    """Applies undecoded entries to a state, in place.

    Attributes:
        state: the state, which is that of the last entry taken whenever `take` has returned or raised.
    """

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self._names = _Names()
        self._types = _Types()

    def take(self, entries: Sequence[RawEntry]) -> None:
        """Applies the entries that follow the state.

        Raises:
            LogFault: an entry is not the next one, or cannot be understood; those before it are applied.
        """
        done = self._take_usual(entries)
        left = len(entries) - done
        if not left:
            return
        if len(entries) == 1:
            [event] = decode_after(self.state.n, entries)
            apply_event(self.state, event)
            return
        # One unusual entry among many is found by halving; what is usual before and after it goes on quickly.
        middle = done + max(1, left // 2)
        self.take(entries[done:middle])
        if middle < len(entries):
            self.take(entries[middle:])

    def _take_usual(self, entries: Sequence[RawEntry]) -> int:
        """Applies entries with the usual fields and numbers, up to the first unusual one; returns how many."""
        state = self.state
        try:
            # By columns, because what is done once for a column is not done for every entry.
            columns = list(zip(*[flat for _, flat in entries], strict=True))
            _, numbers, _, types, _, subjects, _, _, _, times, _, epochs, _, _, _, datas = columns
            if list(map(_joined, columns[::2])) != _expected_names(len(entries)):
                return 0
            if _numbers(b"[%b]" % _joined(numbers)) != list(range(state.n + 1, state.n + 1 + len(entries))):
                return 0
            epoch = max(map(int, set(epochs)))
            known = list(map(self._types.__getitem__, types))
            named = list(map(self._names.__getitem__, subjects))
        except ValueError:
            return 0
        begin = state.n
        self._apply(zip(known, named, times, datas, strict=True))
        done = state.n - begin
        state.epoch = max(state.epoch, epoch if done == len(entries) else max(map(int, epochs[:done]), default=0))
        return done

    def _apply(self, rows: "Iterable[tuple[_Type, str, bytes, bytes]]") -> None:
        """Applies rows of (type, subject, time, data) up to the first that is unusual or cannot be read."""
        state, unpack = self.state, _unpack
        versions, parked = state.versions, state.parked
        n, latest, at = state.n, state.at, 0.0
        time_before = b""
        payload: Any = None
        try:
            for (version, begin, handler, reads, type_), subject, time, data in rows:
                try:
                    if reads:
                        written, late, _, _, payload = unpack(data)
                        if late or written != version:
                            return
                    elif data[:_BEGIN] != begin:
                        return
                    if time != time_before:
                        at = decode_time(time)
                        time_before = time
                        latest = max(latest, at)
                except ValueError:
                    # The ordinary way will say what is wrong.
                    return
                # From here on the entry counts.
                n += 1
                versions[subject] = versions.get(subject, 0) + 1
                if handler is None or subject in parked:
                    continue
                try:
                    handler(state, subject, payload, at)
                except (AttributeError, IllegalTransition, LookupError, TypeError, ValueError) as error:
                    parked[subject] = Parked(n=n, reason=f"{type_}: {error}")
        finally:
            state.n, state.at = n, latest
