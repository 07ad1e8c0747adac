"""Whether the stream still is what was sealed: which events are gone, changed or rewritten, named one by one."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from events.log.checks import is_numbered, number_of
from events.log.port import EventLog, RawEntry
from replay.audit.digests import NOTHING_BEFORE, TRACE, entry_digest, seal_digest
from replay.audit.seals import Seal, raw_entries

# Events that are named one by one; of more, the range is.
NAMED = 20


@dataclass(slots=True)
class SealReport:
    """What checking seals showed.

    Attributes:
        findings: what is wrong, in words, in order of the stream.
        sealed: number of the last event that a seal covers.
        head: number of the last event of the log.
        seals: how many seals were checked.
    """

    findings: list[str] = field(default_factory=list)
    sealed: int = 0
    head: int = 0
    seals: int = 0

    @property
    def unsealed(self) -> int:
        """How many events lie behind the last seal; nothing can be said about them."""
        return max(0, self.head - self.sealed)


async def check_seals(
    log: EventLog, seals: Sequence[Seal], key: bytes | None, archive: Path | None = None
) -> SealReport:
    """Compares the stream with seals from outside of it.

    Args:
        log: the log.
        seals: as they are anchored, in order.
        key: the one that they were made with.
        archive: folder with segments, where the stream was trimmed.
    """
    head = await log.head()
    report = SealReport(sealed=seals[-1].last if seals else 0, head=head.n, seals=len(seals))
    report.findings += _check_chain(seals)
    if seals and seals[0].log_id != head.log_id:
        report.findings.append(f"the log is another one: sealed was {seals[0].log_id}, found is {head.log_id}")
    if head.n < report.sealed:
        report.findings.append(
            f"the log ends at event {head.n}; sealed are events up to {report.sealed}: its tail was cut"
        )
    entries = _Numbered(raw_entries(log, archive, 0))
    for seal in seals:
        found = await entries.take(seal.first, min(seal.last, head.n))
        report.findings += [f"entry {name} is no event and was put in" for name in entries.foreign]
        entries.foreign.clear()
        report.findings += _compare(seal, found, key, cut_at=head.n)
    return report


def _check_chain(seals: Sequence[Seal]) -> list[str]:
    """Checks that seals follow each other; one that was taken out or put in breaks the chain."""
    findings = []
    previous, last = NOTHING_BEFORE.hex(), 0
    for place, seal in enumerate(seals, start=1):
        if seal.number != place or seal.first != last + 1:
            findings.append(
                f"seal {place} is missing: the one in its place is {seal.number} from event {seal.first} on"
            )
        elif seal.previous != previous:
            findings.append(f"seal {seal.number} does not follow the one before it")
        previous, last = seal.digest, seal.last
    return findings


def _compare(seal: Seal, found: dict[int, RawEntry], key: bytes | None, *, cut_at: int) -> list[str]:
    last = min(seal.last, cut_at)
    missing = [n for n in range(seal.first, last + 1) if n not in found]
    digests = {n: entry_digest(entry) for n, entry in found.items()}
    changed = [n for n in sorted(found) if digests[n][:TRACE] != seal.trace(n)]
    findings = []
    if missing:
        findings.append(f"{_events(missing)} removed (seal {seal.number})")
    if changed:
        findings.append(f"{_events(changed)} changed (seal {seal.number})")
    if findings or last < seal.last:
        return findings
    made = seal_digest(
        bytes.fromhex(seal.previous),
        seal.log_id,
        seal.first,
        seal.last,
        [digests[n] for n in range(seal.first, seal.last + 1)],
        key if seal.keyed else None,
    )
    if made.hex() != seal.digest:
        why = "the key is another one, or " if seal.keyed else ""
        findings.append(f"seal {seal.number} (events {seal.first} to {seal.last}) does not hold: {why}it was changed")
    return findings


def _events(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"event {numbers[0]} was"
    if len(numbers) <= NAMED:
        return f"events {', '.join(map(str, numbers))} were"
    return f"events {numbers[0]} to {numbers[-1]} ({len(numbers)} of them) were"


class _Numbered:
    """Entries by number, taken range by range."""

    def __init__(self, entries: AsyncIterator[RawEntry]) -> None:
        self._entries = entries
        self._next: RawEntry | None = None
        self.foreign: list[str] = []

    async def take(self, first: int, last: int) -> dict[int, RawEntry]:
        """Returns the entries with numbers in a range; what carries no number is noted as foreign."""
        found: dict[int, RawEntry] = {}
        while True:
            entry = self._next or await anext(self._entries, None)
            self._next = None
            if entry is None:
                return found
            if not is_numbered(entry):
                self.foreign.append(entry[0].decode(errors="replace"))
                continue
            n = number_of(entry)
            if n > last:
                self._next = entry
                return found
            if n >= first:
                found[n] = entry


def compare_places(beside: Sequence[Seal], anchored: Sequence[Seal], name: str) -> list[str]:
    """Returns where the seals beside the log are not those that are anchored outside."""
    findings = []
    for kept, known in zip(beside, anchored, strict=False):
        if kept.digest != known.digest:
            findings.append(
                f"seal {known.number} beside the log is not the one at {name}: "
                f"from event {known.first} on the stream was rewritten and sealed again"
            )
            break
    if len(beside) < len(anchored):
        findings.append(f"{len(anchored) - len(beside)} seals at {name} are not beside the log any more")
    return findings
