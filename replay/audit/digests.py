"""What exactly is hashed, and how: entries, and chains of ranges of entries. `docs/audit.md` says the same for people.

An entry's digest is SHA-256 over its stream id and then its field names and values in turn, as the server returns
them, each with its length before it (4 bytes, big endian). A seal's digest is SHA-256 over the digest of the seal
before it (32 bytes, zeros for the first), the text `LOG_ID FIRST LAST` in UTF-8, and the digests of its entries in
order; with a key it is HMAC-SHA-256 over the same bytes.
"""

import hashlib
import hmac
from collections.abc import Iterable

from events.log.port import RawEntry

# Bytes of an entry's digest that a seal keeps of each, so that a changed entry can be named.
TRACE = 4
NOTHING_BEFORE = bytes(32)


def entry_digest(entry: RawEntry) -> bytes:
    """Returns the SHA-256 of an entry."""
    entry_id, flat = entry
    whole = hashlib.sha256()
    for part in (entry_id, *flat):
        whole.update(len(part).to_bytes(4, "big"))
        whole.update(part)
    return whole.digest()


def seal_digest(
    previous: bytes, log_id: str, first: int, last: int, entries: Iterable[bytes], key: bytes | None
) -> bytes:
    """Returns the digest of a seal.

    Args:
        previous: digest of the seal before it.
        log_id: of the log.
        first: number of the first event.
        last: number of the last event.
        entries: the digests of the entries, in order.
        key: for HMAC, None for a plain hash.
    """
    parts = [previous, f"{log_id} {first} {last}".encode(), *entries]
    if key is None:
        return hashlib.sha256(b"".join(parts)).digest()
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()
