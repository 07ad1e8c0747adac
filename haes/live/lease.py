"""A lease as its holder sees it: taken, renewed, and over at a moment that the holder knows by its own clock.

The term counts from before the request was sent, so that the holder stops before the log lets anybody else in. Knows
nothing of what the lease is for.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping

from events.errors import Fenced, LeaseHeld
from events.log.port import NO_RIGHT, EventLog, LeaseInfo, Right, Token
from haes.clock import boottime

_log = logging.getLogger(__name__)

# Renewals per term: two may be lost before the third comes too late.
RENEWALS = 3


class HeldLease:
    """One lease of one process.

    Attributes:
        name: of the lease.
        owner: who holds it, for people.
        ttl: seconds of a term.
        token: the right to append; None while the lease is not held.
        note: returns small values that are kept with the lease at each renewal.
        newest: returns the newest right under this lease that somebody else than this process and the log remembers.
    """

    def __init__(self, log: EventLog, name: str, owner: str, ttl: float) -> None:
        self._log = log
        self.name = name
        self.owner = owner
        self.ttl = ttl
        self.token: Token | None = None
        self.note: Callable[[], Mapping[str, str]] = dict
        self.newest: Callable[[], Awaitable[Right]] = _nobody
        self._last = NO_RIGHT
        self._deadline = 0.0

    @property
    def deadline(self) -> float:
        """When the term is over, by `boottime`; 0 while the lease is not held."""
        return self._deadline

    def valid(self) -> bool:
        """Returns whether the lease is held right now."""
        return self.token is not None and boottime() < self._deadline

    @property
    def interval(self) -> float:
        """Seconds between two renewals."""
        return self.ttl / RENEWALS

    async def acquire(self, *, seize: bool = False) -> bool:
        """Takes the lease; returns False when somebody else holds it.

        A log that lost its tail may have forgotten to whom it gave the lease. What it gives now is newer all the same.
        """
        above = max(self._last, await self.newest())
        sent = boottime()
        try:
            self.token = await self._log.acquire(self.name, self.owner, ttl=self.ttl, seize=seize, above=above)
        except LeaseHeld:
            return False
        self._last = self.token.right
        self._begin_term(sent)
        return True

    async def renew(self) -> bool:
        """Starts a new term; returns False when the lease is lost."""
        if self.token is None:
            return False
        sent = boottime()
        try:
            await self._log.renew(self.token, ttl=self.ttl, note=self.note())
        except Fenced as error:
            _log.warning("lease '%s' is lost: %s", self.name, error)
            self.forget()
            return False
        self._begin_term(sent)
        return True

    async def release(self) -> None:
        """Gives the lease back at once."""
        token, self.token, self._deadline = self.token, None, 0.0
        if token is not None:
            await self._log.release(token)

    def forget(self) -> None:
        """Counts the lease as lost."""
        self.token = None
        self._deadline = 0.0

    def _begin_term(self, sent: float) -> None:
        self._deadline = sent + self.ttl


class SeenRights:
    """The newest right under each lease that was seen on the log, for whoever takes leases that others held."""

    def __init__(self) -> None:
        self._newest: dict[str, Right] = {}

    def note(self, leases: Mapping[str, LeaseInfo], generation: int) -> None:
        """Takes note of the leases as they are, on a log of a generation."""
        for name, lease in leases.items():
            self._newest[name] = max(self._newest.get(name, NO_RIGHT), (generation, lease.epoch))

    def of(self, name: str) -> Callable[[], Awaitable[Right]]:
        """Returns what tells the newest right under one lease; see `HeldLease.newest`."""

        async def newest() -> Right:
            return self._newest.get(name, NO_RIGHT)

        return newest


async def _nobody() -> Right:
    return NO_RIGHT
