"""What the balancer counts follows from the stream: numbers of motions and series, attempts, back-offs, rests.

Unlike a choice between motions, these decisions need no measurement, so they can be made again on any stream.
"""

from events.envelope import Event
from haes import settings
from haes.balancer.memory import Motion
from haes.balancer.outcomes import LARGEST_EXPONENT, LONGEST_SKIP
from haes.state.cluster import ClusterState
from replay.checks.check import Check


class Memory(Check):
    """Counts again."""

    name = "memory"

    def before(self, event: Event, state: ClusterState) -> None:
        """See Check."""
        memory, payload = state.balance, event.payload
        match event.type:
            case "balance.motion":
                self._same(event, number=memory.motions + 1, series=memory.series)
            case "balance.series":
                self._same(event, number=memory.series + 1)
            case "balance.failed" if memory.motion is not None and payload["resource"] in memory.motion.members:
                self._failed(event, state, memory.motion)
            case "balance.moved":
                rest = settings.crs(state.settings, "ha-auto-rebalance-cooldown")
                self._same(event, cooldown_until=event.at + rest if rest else None)

    def _failed(self, event: Event, state: ClusterState, motion: Motion) -> None:
        known = state.balance.failures.get((event.payload["resource"], event.payload["target"]))
        attempts = 1 if known is None else known.attempts + 1
        exponent = min(attempts - 1, LARGEST_EXPONENT)
        until: float | None = None
        first: int | None = None
        if motion.policy == "time":
            base, longest = (
                settings.crs(state.settings, f"ha-auto-rebalance-backoff-{name}") for name in ("base", "max")
            )
            until = event.at + min(base * 2**exponent, longest)
        elif motion.policy == "series":
            first = state.balance.series + 1 + min(2**exponent, LONGEST_SKIP)
        self._same(event, target=motion.target, attempts=attempts, until=until, first_series=first)

    def _same(self, event: Event, **expected: object) -> None:
        for name, value in expected.items():
            if event.payload.get(name) != value:
                self.wrong(
                    event, f"{event.type}: {name} is recorded as {event.payload.get(name)}, counted again {value}"
                )

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - see Check
        """See Check."""
        return "numbers, attempts, back-offs and rests of the balancer come out again"
