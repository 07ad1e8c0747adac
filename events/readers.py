"""Registered readers: who still has to read what, so that nothing is trimmed before; knows nothing of what they read.

Whoever holds a lease and notes in it how far it has read is a registered reader for as long as the lease runs. So a
registration expires by itself, and a reader that is gone for good holds nothing back for ever.
"""

from collections.abc import Mapping

from events.log.port import EventLog, LeaseInfo, Token

# What a holder notes: the number of the last event that it has read.
POSITION = "n"
# Begins the names of the leases of readers that are nothing else.
PREFIX = "reader/"
# Seconds after which a reader that did not come back is no longer waited for: a week, so that one that is away over a
# weekend or holidays finds everything it has not read.
TERM = 7 * 86400.0


def position_note(n: int) -> dict[str, str]:
    """Returns what the holder of a lease notes in it when it has read up to an event."""
    return {POSITION: str(n)}


def noted_position(lease: LeaseInfo) -> int | None:
    """Returns how far the holder of a lease has read, None where it does not say."""
    text = lease.note.get(POSITION, "")
    return int(text) if text.isdigit() else None


def waiting_readers(leases: Mapping[str, LeaseInfo]) -> dict[str, int]:
    """Returns reader -> number of the last event that it has read, for all whose registration has not expired."""
    return {
        name.removeprefix(PREFIX): position
        for name, lease in sorted(leases.items())
        if (position := noted_position(lease)) is not None and (lease.expires_in is None or lease.expires_in > 0)
    }


class Registration:
    """A reader that goes on, after any pause, where it stopped.

    Attributes:
        position: number of the last event that was read.
    """

    def __init__(self, log: EventLog, name: str, owner: str) -> None:
        self._log = log
        self._lease = PREFIX + name
        self._owner = owner
        self._token: Token | None = None
        self.position = 0

    async def begin(self) -> None:
        """Registers, or goes on with the registration of an earlier run of the same owner.

        Raises:
            LeaseHeld: another owner reads under this name.
        """
        known = (await self._log.leases()).get(self._lease)
        mine = known is not None and known.owner == self._owner
        self.position = 0 if known is None else noted_position(known) or 0
        self._token = await self._log.acquire(self._lease, self._owner, ttl=TERM, seize=mine)
        await self.advance(self.position)

    async def advance(self, n: int) -> None:
        """Notes that everything up to an event was read, for good.

        Raises:
            Fenced: somebody else reads under this name now, or the registration expired.
        """
        assert self._token is not None  # noqa: S101 - `begin` comes first
        await self._log.renew(self._token, ttl=TERM, note=position_note(n))
        self.position = n

    async def end(self) -> None:
        """Ends the registration: nothing is kept for this reader any more."""
        if self._token is not None:
            await self._log.release(self._token)


async def forget_reader(log: EventLog, name: str, by: str) -> bool:
    """Ends the registration of a reader that will not come back; returns False when there is none of that name."""
    if PREFIX + name not in await log.leases():
        return False
    await log.release(await log.acquire(PREFIX + name, by, seize=True))
    return True
