"""What all logs share: whether a reader may go on, how entries become events, what refusals say; knows no server."""

from collections.abc import Iterable, Sequence

from events.codec import FIELDS, SUBJECT, N, decode_entry
from events.envelope import Event
from events.errors import (
    EntryCorrupt,
    EventUnknown,
    Fenced,
    LeaseHeld,
    LogFault,
    LogForked,
    LogMissing,
    LogTruncated,
    StaleDecision,
)
from events.log.port import FOREIGN, START_ID, UNREADABLE, Checkpoint, Head, RawEntry, Token


def check_position(checkpoint: Checkpoint | None, head: Head, first_n: int | None, entry_n: int | None) -> Checkpoint:
    """Returns the position from which the reader may go on.

    Stream ids are times, so they cannot prove that nothing is missing; sequence numbers can.

    Args:
        checkpoint: the reader's position, None for the start.
        head: where the log ends.
        first_n: sequence number of the oldest entry that the log still has, None when it has none.
        entry_n: sequence number of the entry at the reader's position, None when there is none.

    Raises:
        LogForked: it is another log, or its tail was lost.
        LogTruncated: entries that the reader has not seen are gone.
    """
    position = checkpoint or Checkpoint(head.log_id, START_ID, 0)
    if position.log_id != head.log_id:
        raise LogForked(f"the log is another one: {head.log_id} instead of {position.log_id}")
    if position.n > head.n:
        raise LogForked(f"the log ends at event {head.n}, before event {position.n} that was read already")
    oldest = head.n + 1 if first_n is None else first_n
    if oldest > position.n + 1:
        raise LogTruncated(f"events {position.n + 1} to {oldest - 1} were removed before they were read")
    was_trimmed = oldest == position.n + 1
    if position.n and entry_n != position.n and not (was_trimmed and entry_n is None):
        raise LogForked(f"event {position.n} is not the one that was read already ({position.id})")
    return position


def check_alive(checkpoint: Checkpoint, head: Head) -> None:
    """Raises LogForked when a follower's log was replaced or lost its tail."""
    if head.log_id != checkpoint.log_id or head.n < checkpoint.n:
        check_position(checkpoint, head, None, None)


def missing(cluster: str) -> LogMissing:
    """Returns the fault of a log that is gone."""
    return LogMissing(f"the event log of cluster '{cluster}' is gone")


def fenced(token: Token, why: str) -> Fenced:
    """Returns the refusal of a token."""
    return Fenced(f"epoch {token.epoch} of lease '{token.lease}' is not good any more: {why}")


def held_by(lease: str, owner: str, expires_in: float | None) -> LeaseHeld:
    """Returns the refusal of a lease that somebody holds."""
    term = "without end" if expires_in is None else f"for another {expires_in:.1f} s"
    return LeaseHeld(f"lease '{lease}' is held by {owner} {term}")


def stale(subject: str, expected: int, actual: int) -> StaleDecision:
    """Returns the refusal of a batch that was decided on an old state."""
    return StaleDecision(f"subject '{subject}' is at version {actual}, decided was on {expected}")


def decode_after(after: int, entries: Iterable[RawEntry], *, lenient: bool = False) -> list[Event]:
    """Decodes the entries that follow event `after`.

    An entry that cannot be understood ends the list, so that the good ones before it are not lost; where it is the
    first one, it is raised. With `lenient` a stand-in takes its place, as `EventLog.read` says.

    Raises:
        LogFault: the first entry is not event `after + 1`, or cannot be understood.
    """
    events: list[Event] = []
    for entry_id, flat in entries:
        try:
            event = decode_entry(entry_id, flat)
            if event.n != after + 1:
                raise _gap(event, after)
        except LogFault as fault:
            stand_in = _stand_in(fault, after, entry_id, flat) if lenient else None
            if stand_in is not None:
                events.append(stand_in)
                after = stand_in.n
                continue
            if events:
                break
            raise _placed(fault, after + 1, entry_id, flat) from fault
        events.append(event)
        after = event.n
    return events


def _placed(fault: LogFault, n: int, entry_id: bytes, flat: Sequence[bytes]) -> LogFault:
    """Returns a fault that says where it is and whom it concerns."""
    placed = type(fault)(f"event {n} (entry {entry_id.decode(errors='replace')}): {fault}")
    placed.n = n
    if tuple(flat[:SUBJECT:2]) == FIELDS[: SUBJECT // 2 + 1]:
        placed.subject = flat[SUBJECT].decode(errors="replace")
    return placed


def _stand_in(fault: LogFault, after: int, entry_id: bytes, flat: Sequence[bytes]) -> Event | None:
    """Returns an event that stands for an entry that cannot be understood; None where the order itself is broken."""
    if not isinstance(fault, EntryCorrupt | EventUnknown):
        return None
    name = entry_id.decode(errors="replace")
    fields = dict(zip(flat[::2], flat[1::2], strict=False))
    number = fields.get(FIELDS[0], b"")
    if not number.isdigit():
        return Event(FOREIGN, f"entry {name}", "?", 0, {"reason": str(fault)}, n=after, id=name)
    if int(number) != after + 1:
        return None
    type_, subject, by = (fields.get(field, b"?").decode(errors="replace") for field in FIELDS[1:4])
    payload = {"type": type_, "newer": isinstance(fault, EventUnknown), "reason": str(fault)}
    return Event(UNREADABLE, subject, by, 0, payload, n=after + 1, id=name)


def _gap(event: Event, after: int) -> LogFault:
    """Returns the fault of an entry whose number does not follow."""
    if event.n > after:
        return LogTruncated(f"events {after + 1} to {event.n - 1} are gone")
    return LogForked(f"its number is {event.n}")


def is_numbered(entry: RawEntry) -> bool:
    """Says whether an entry has a sequence number, as every event has, also one that cannot be understood."""
    _, flat = entry
    return len(flat) > N and flat[N - 1] == FIELDS[0] and flat[N].isdigit()


def number_of(entry: RawEntry) -> int:
    """Returns the sequence number of an entry.

    Raises:
        EntryCorrupt: it has none.
    """
    entry_id, flat = entry
    if not is_numbered(entry):
        raise EntryCorrupt(f"entry {entry_id.decode(errors='replace')} has no sequence number")
    return int(flat[N])


def check_batch(events: Sequence[Event]) -> None:
    """Raises ValueError for a batch without events, which is a bug in its author."""
    if not events:
        raise ValueError("an append needs at least one event")
