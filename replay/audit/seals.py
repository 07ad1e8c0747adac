"""Seals: records of what a range of the stream was, chained; made here, written beside the log and outside of it."""

import base64
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from events.archive import read_segment, segments_in
from events.errors import UserError
from events.log.checks import is_numbered, number_of
from events.log.port import EventLog, RawEntry
from replay.audit.digests import NOTHING_BEFORE, TRACE, entry_digest, seal_digest

# Events of one seal at most: a line of some 22 kB, and a range that is quickly looked through.
SEAL_EVENTS = 4096
STREAM = "seals"
# Seals kept beside the log: more than a year of a busy cluster needs.
KEPT = 1_000_000


@dataclass(frozen=True, slots=True)
class Seal:
    """What a range of the stream was.

    Attributes:
        number: counts seals from 1.
        cluster: the cluster.
        log_id: the log.
        first: number of the first event.
        last: number of the last event.
        last_id: stream id of the last event.
        at: when it was made, in domain time.
        previous: digest of the seal before, hexadecimal.
        digest: of this seal, hexadecimal.
        keyed: the digest is an HMAC.
        traces: the first bytes of each entry's digest, base64.
    """

    number: int
    cluster: str
    log_id: str
    first: int
    last: int
    last_id: str
    at: float
    previous: str
    digest: str
    keyed: bool
    traces: str

    def to_line(self) -> str:
        """Returns the seal as one line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def trace(self, n: int) -> bytes:
        """Returns what is kept of the digest of an event."""
        start = (n - self.first) * TRACE
        return base64.b64decode(self.traces)[start : start + TRACE]


def read_seal(line: str | bytes, origin: str) -> Seal:
    """Reads a seal from its line.

    Raises:
        UserError: it is none.
    """
    try:
        return Seal(**json.loads(line))
    except (TypeError, ValueError) as error:
        raise UserError(f"{origin}: a line is no seal ({error})") from error


async def raw_entries(log: EventLog, archive: Path | None, after: int) -> AsyncIterator[RawEntry]:
    """Yields every entry after a number as it is, archived ones first; says nothing about what is missing."""
    if archive is not None:
        for segment in segments_in(archive):
            if segment.last <= after:
                continue
            for entry in read_segment(segment):
                if number_of(entry) > after:
                    yield entry
            after = segment.last
    async for chunk in log.raw_chunks(after):
        for entry in chunk:
            yield entry


async def seals_beside(log: EventLog) -> list[Seal]:
    """Returns the seals that are kept beside the log."""
    found = await log.side.read_all(STREAM)
    return [read_seal(entry.fields["seal"], "the seals beside the log") for entry in found]


async def make_seals(
    log: EventLog, known: Sequence[Seal], key: bytes | None, archive: Path | None = None
) -> list[Seal]:
    """Seals everything that is not sealed yet, and returns the new seals.

    Args:
        log: the log.
        known: the seals so far, in order; the chain goes on from the last.
        key: for HMAC.
        archive: folder with segments, where the stream was trimmed beyond the last seal.

    Raises:
        UserError: events are missing, so that there is nothing honest to seal.
    """
    head, now = await log.head(), await log.now()
    last = known[-1] if known else None
    after = last.last if last else 0
    made: list[Seal] = []
    batch: list[RawEntry] = []
    async for entry in raw_entries(log, archive, after):
        n = after + len(batch) + 1
        if not is_numbered(entry):
            # No event; checking names it, and it must not keep the others from being sealed.
            continue
        if number_of(entry) != n:
            raise UserError(f"event {n} is missing, so nothing from there on can be sealed (entry {entry[0].decode()})")
        batch.append(entry)
        if n == head.n or len(batch) == SEAL_EVENTS:
            made.append(_seal(log.cluster, head.log_id, made[-1] if made else last, batch, now, key))
            after, batch = n, []
        if n == head.n:
            break
    return made


def _seal(
    cluster: str, log_id: str, before: Seal | None, batch: Sequence[RawEntry], at: float, key: bytes | None
) -> Seal:
    first = before.last + 1 if before else 1
    digests = [entry_digest(entry) for entry in batch]
    previous = bytes.fromhex(before.digest) if before else NOTHING_BEFORE
    last = first + len(batch) - 1
    return Seal(
        number=before.number + 1 if before else 1,
        cluster=cluster,
        log_id=log_id,
        first=first,
        last=last,
        last_id=batch[-1][0].decode(),
        at=at,
        previous=previous.hex(),
        digest=seal_digest(previous, log_id, first, last, digests, key).hex(),
        keyed=key is not None,
        traces=base64.b64encode(b"".join(digest[:TRACE] for digest in digests)).decode(),
    )


async def keep_beside(log: EventLog, seals: Sequence[Seal]) -> None:
    """Writes seals beside the log, where every reader of the stream finds them."""
    for seal in seals:
        await log.side.add(STREAM, {"seal": seal.to_line()}, keep=KEPT)
