"""How an event becomes the fields of a stream entry, and back; the only module that knows the wire format.

An entry is readable with `redis-cli XRANGE` alone: plain text fields `n type subject by at epoch about` in this order,
then `data`, a msgpack array `[version, late, cause, correlation, payload]`. New elements may only be added at the end.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

import msgpack

from events.envelope import Event
from events.errors import EntryCorrupt
from events.schema import upcast

# Field names in the order in which the append script writes them.
FIELDS = (b"n", b"type", b"subject", b"by", b"at", b"epoch", b"about", b"data")
# Where the values of those fields lie in the flat list [name, value, name, value, ...] of a stream entry.
N, TYPE, SUBJECT, BY, AT, EPOCH, ABOUT, DATA = range(1, 2 * len(FIELDS), 2)

_unpack = msgpack.unpackb
# One packer for all events: making one costs as much as packing. Events are encoded in one thread.
_pack = msgpack.Packer().pack


def encode_data(event: Event) -> bytes:
    """Packs what the plain fields do not show: version, late, cause, correlation and payload."""
    packed: bytes = _pack([event.version, event.late, event.cause, event.correlation, event.payload])
    return packed


# The events of a batch have one time.
@lru_cache(maxsize=16)
def encode_time(at: float) -> str:
    """Writes a time in seconds without a fraction where it has none: `20`, `1764572323.125`."""
    whole = int(at)
    return str(whole) if whole == at else repr(float(at))


def decode_time(text: bytes) -> float:
    """Reads a time; whole seconds come back as int, so that folds and texts do not depend on the log's kind."""
    if b"." not in text and b"e" not in text:
        return int(text)
    at = float(text)
    if not isfinite(at):
        raise ValueError(f"'{text.decode()}' is no time")
    return at


def encode_fields(event: Event) -> list[bytes]:
    """Returns the values of the fields after `n`, in wire order: what a log stores for an event.

    The result has 7 items: type, subject, by, at, epoch, about, data.
    """
    return [
        event.type.encode(),
        event.subject.encode(),
        event.by.encode(),
        encode_time(event.at).encode(),
        b"%d" % event.epoch,
        event.about.encode(),
        encode_data(event),
    ]


def encode_for_append(event: Event) -> tuple[str | bytes, ...]:
    """Returns the same for a script that writes the epoch of its token; text stays text, which a client packs quickly.

    The result has 6 items: type, subject, by, at, about, data.
    """
    return event.type, event.subject, event.by, encode_time(event.at), event.about, encode_data(event)


def decode_data(type_: str, data: bytes) -> tuple[int, bool, str | None, str | None, dict[str, Any]]:
    """Unpacks `data` and brings the payload to the current version.

    Raises:
        EntryCorrupt: the bytes are not what HAES writes.
        EventUnknown: the type or its version is not known to this program.
    """
    try:
        version, late, cause, correlation, payload = _unpack(data, strict_map_key=False)[:5]
    except (ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
        raise EntryCorrupt(f"an entry of type '{type_}' has data that cannot be decoded ({error})") from error
    if not isinstance(payload, dict) or not isinstance(version, int):
        raise EntryCorrupt(f"an entry of type '{type_}' has data of the wrong shape")
    return version, late, cause, correlation, upcast(type_, version, payload)


def decode_entry(entry_id: bytes, flat: Sequence[bytes]) -> Event:
    """Makes an event of a stream entry.

    Args:
        entry_id: the stream id, for example `b"1764572323123-0"`.
        flat: names and values in turn, as the server returns them.

    Raises:
        EntryCorrupt: the entry was not written by HAES, or is damaged.
        EventUnknown: the type or its version is not known to this program.
    """
    if tuple(flat[::2][: len(FIELDS)]) != FIELDS:
        raise EntryCorrupt(f"entry {entry_id.decode(errors='replace')} was not written by HAES (its fields differ)")
    try:
        type_ = flat[TYPE].decode()
        version, late, cause, correlation, payload = decode_data(type_, flat[DATA])
        return Event(
            type=type_,
            subject=flat[SUBJECT].decode(),
            by=flat[BY].decode(),
            at=decode_time(flat[AT]),
            payload=payload,
            version=version,
            epoch=int(flat[EPOCH]),
            about=flat[ABOUT].decode(),
            cause=cause,
            correlation=correlation,
            late=late,
            n=int(flat[N]),
            id=entry_id.decode(),
        )
    except (UnicodeDecodeError, ValueError) as error:
        raise EntryCorrupt(f"entry {entry_id.decode(errors='replace')} is damaged ({error})") from error
