"""What became of a command: followed on the stream from its receipt over its answer to its last effect."""

import asyncio

from events.envelope import Event
from events.errors import LogUnavailable
from haes.journal import journal_lines
from haes.live.command_words import advice, what_is_asked, why_ignored, why_refused
from haes.live.effects import STEADY, AtOnce, Effect, End, Outcome, effect_of
from haes.live.follow import FOLLOW_INTERVAL
from haes.live.outage import RETRY_INTERVAL
from haes.live.replica import Replica
from haes.state.cluster import ClusterState

__all__ = ["CommandWatch", "End", "Outcome", "follow_command"]

# What the balancer says on being asked.
_ADVICE = frozenset({"balance.advised", "balance.refused"})
# The verb whose answer is what the balancer says.
_ASKS_FOR_ADVICE = "rebalance-advise"


class CommandWatch:
    """Follows one request.

    Attributes:
        number: of the command, once a leader has received it.
        verb: of the command, as received.
        advice: what the balancer said since then.
    """

    def __init__(self, user: str, request: str, steady: float = STEADY) -> None:
        """Begins to watch.

        Args:
            user: who asked.
            request: the entry in the user's own stream.
            steady: seconds for which a service must stay up to count as running.
        """
        self._user, self._request, self._steady = user, request, steady
        self.number: int | None = None
        self.verb = ""
        self.advice: Event | None = None
        self._arguments: tuple[str, ...] = ()
        self._refused: Event | None = None
        self._ended: Outcome | None = None
        self._effect: Effect | None = None

    def see(self, event: Event) -> None:
        """Takes an event into account."""
        payload = event.payload
        if event.type == "command.received" and payload.get("request") == self._request:
            if payload["user"] == self._user:
                self.number, self.verb = payload["id"], payload["verb"]
                self._arguments = tuple(payload["arguments"])
            return
        if self.number is None:
            return
        if event.type.startswith("command.") and payload.get("id") == self.number:
            self._see_answer(event)
        elif event.type in _ADVICE:
            self.advice = event
        self._effect_of_command(self.number).see(event)

    def answer(self, state: ClusterState) -> Outcome | None:
        """Returns what the leader said to the command, None while it has not looked at it."""
        if self._refused is not None:
            members = sorted(state.members)
            return Outcome(End.REJECTED, why_refused(self._refused.payload, self._arguments, members))
        if self._ended is not None:
            return self._ended
        if self.number is None or self.number in state.commands:
            return None
        if self.verb == _ASKS_FOR_ADVICE:
            # It belongs to the same round, and may come a moment later.
            said = self.advice
            return None if said is None else Outcome(End.DONE, advice(said))
        effect = self._effect_of_command(self.number)
        if isinstance(effect, AtOnce):
            return effect.outcome(state)
        return Outcome(End.TAKEN, what_is_asked(self.verb, self._arguments))

    def outcome(self, state: ClusterState) -> Outcome | None:
        """Returns how the command ended in the end, None while it has not."""
        answer = self.answer(state)
        if answer is None or self.number is None or answer.end is not End.TAKEN:
            return answer
        return self._effect_of_command(self.number).outcome(state)

    def _see_answer(self, event: Event) -> None:
        if event.type == "command.rejected":
            self._refused = event
        elif event.type == "command.ignored":
            self._ended = Outcome(End.IGNORED, why_ignored(event, self._arguments))
        elif event.type != "command.done":
            lines = journal_lines(event)
            self._ended = Outcome(End.FAILED, lines[0].text if lines else event.about)

    def _effect_of_command(self, number: int) -> Effect:
        if self._effect is None:
            self._effect = effect_of(number, self.verb, self._arguments, self._steady)
        return self._effect


async def follow_command(
    replica: Replica, watch: CommandWatch, seconds: float, *, to_the_end: bool = True
) -> Outcome | None:
    """Waits for the end of a command, or for its answer only; None when the time is over before."""
    look = watch.outcome if to_the_end else watch.answer
    try:
        async with asyncio.timeout(seconds):
            while (outcome := look(replica.state)) is None:
                try:
                    await replica.follow(FOLLOW_INTERVAL)
                except LogUnavailable:
                    await asyncio.sleep(RETRY_INTERVAL)
            return outcome
    except TimeoutError:
        return None
