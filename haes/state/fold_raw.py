"""The same fold as in fold.py, on undecoded entries and several times as fast; decides nothing, applies by its rules.

What costs time in replay is not the handlers but everything before them. So an entry that looks as the append script
writes it is taken apart in place: no Event is made, names are decoded once, and the payload only where a handler reads
it. Every other entry (an older schema version, a late fact, anything unusual) takes the ordinary way, which also says
what is wrong with it. What a strict fold does not look at is for `haes verify` to find out:
payloads that no handler reads, and the names of fields within a chunk, where an entry counts as usual when the next
number, a known type, a time, an epoch and packed data lie in their places. A lenient fold looks at every payload.
"""

from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from typing import Any

import msgspec

from events.codec import FIELDS, N, decode_time
from events.log.checks import decode_after
from events.log.port import RawEntry
from events.schema import SCHEMAS
from haes.state.cluster import ClusterState
from haes.state.fold import APPLIED_APART, HANDLERS, Handler, apply_event
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
_NAMES = list(FIELDS)


@cache
def reads_payload(handler: Handler) -> bool:
    """Says whether a handler looks at the payload: one that does not says so by the name of its parameter."""
    _, _, payload, _ = signature(handler).parameters
    return not payload.startswith("_")


def _known_types(*, lenient: bool) -> dict[bytes, _Type]:
    """Returns what the fold has to know of each event type that it can apply by itself.

    A lenient fold looks at every payload: whoever follows the log parks the subject of one that cannot be decoded, and
    whoever restores the state later must come to the same.
    """
    known: dict[bytes, _Type] = {}
    for name in SCHEMAS.keys() - APPLIED_APART:
        schema = SCHEMAS[name]
        handler = HANDLERS.get(name)
        reads = lenient or (handler is not None and reads_payload(handler))
        known[name.encode()] = schema.version, _NOT_LATE % schema.version, handler, reads, name
    return known


class RawFold:
    """Applies undecoded entries to a state, in place.

    Attributes:
        state: the state, which is that of the last entry taken whenever `take` has returned or raised.
    """

    def __init__(self, state: ClusterState, *, lenient: bool = False) -> None:
        """Begins at a state.

        Args:
            state: what the entries are applied to.
            lenient: let stand-ins take the place of entries that cannot be understood, as `EventLog.read` does.
        """
        self.state = state
        self._lenient = lenient
        # Each name is decoded once; a state then keeps a single copy of it.
        self._names: dict[bytes, str] = {}
        self._types = _known_types(lenient=lenient)

    def take(self, entries: Sequence[RawEntry]) -> None:
        """Applies the entries that follow the state.

        Raises:
            LogFault: an entry is not the next one, or cannot be understood; those before it are applied.
        """
        done = self._take_usual(entries) if entries else 0
        left = len(entries) - done
        if not left:
            return
        if len(entries) == 1:
            [event] = decode_after(self.state.n, entries, lenient=self._lenient)
            apply_event(self.state, event)
            return
        # One unusual entry among many is found by halving; what is usual before and after it goes on quickly.
        middle = done + max(1, left // 2)
        self.take(entries[done:middle])
        if middle < len(entries):
            self.take(entries[middle:])

    def _take_usual(self, entries: Sequence[RawEntry]) -> int:
        """Applies entries with the usual fields and the next numbers, up to the first unusual one; returns how many."""
        begin = self.state.n
        try:
            numbers = _numbers(b"[%b]" % b",".join([flat[N] for _, flat in entries]))
        except (LookupError, ValueError):
            return 0
        if numbers != list(range(begin + 1, begin + 1 + len(entries))):
            return 0
        if entries[0][1][::2] != _NAMES or entries[-1][1][::2] != _NAMES:
            return 0
        self._apply(entries)
        return self.state.n - begin

    def _apply(self, entries: Sequence[RawEntry]) -> None:
        """Applies entries, whose numbers are known to be right, up to the first that is unusual or cannot be read."""
        state, names, types, unpack = self.state, self._names, self._types, _unpack
        versions, parked = state.versions, state.parked
        n, latest, highest = state.n, state.at, state.epoch
        at, time_before, epoch_before = 0.0, b"", b""
        payload: Any = None
        try:
            for _, flat in entries:
                try:
                    _, _, _, raw_type, _, raw_subject, _, _, _, time, _, epoch, _, _, _, data = flat
                    version, begin, handler, reads, type_ = types[raw_type]
                    try:
                        subject = names[raw_subject]
                    except KeyError:
                        subject = names[raw_subject] = raw_subject.decode()
                    if reads:
                        written, late, _, _, payload = unpack(data)
                        if late or written != version:
                            return
                    elif data[:_BEGIN] != begin:
                        return
                    # Both are mostly those of the entry before.
                    if time != time_before or epoch != epoch_before:
                        at, number = decode_time(time), int(epoch)
                        time_before, epoch_before = time, epoch
                        latest, highest = max(latest, at), max(highest, number)
                except (KeyError, ValueError):
                    # The ordinary way will say what is wrong.
                    return
                # From here on the entry counts.
                n += 1
                versions[subject] = versions.get(subject, 0) + 1
                if handler is None or subject in parked:
                    continue
                try:
                    handler(state, subject, payload, at)
                except Exception as error:  # noqa: BLE001 - whatever an event holds, it stops its own subject alone
                    parked[subject] = Parked(n=n, reason=f"{type_}: {error}")
        finally:
            state.n, state.at, state.epoch = n, latest, highest
