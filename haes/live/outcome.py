"""What became of a command: followed on the stream from its receipt to its last effect. Decides nothing."""

import asyncio
from dataclasses import dataclass
from enum import Enum

from events.envelope import Event
from events.errors import LogUnavailable
from haes.journal import journal_lines
from haes.live.follow import FOLLOW_INTERVAL
from haes.live.outage import RETRY_INTERVAL
from haes.live.replica import Replica
from haes.machines.resource import MOVING
from haes.state.cluster import ClusterState


class End(Enum):
    """How a command ended."""

    DONE = "done"
    IGNORED = "ignored"
    REJECTED = "rejected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended, and in words why."""

    end: End
    text: str


class CommandWatch:
    """Follows one request.

    Attributes:
        number: of the command, once a leader has received it.
    """

    def __init__(self, user: str, request: str) -> None:
        self._user, self._request = user, request
        self.number: int | None = None
        self._answer: Outcome | None = None
        self._resource: str | None = None
        self._target: str | None = None

    def see(self, event: Event) -> None:
        """Takes an event into account."""
        payload = event.payload
        if event.type == "command.received" and payload.get("request") == self._request:
            if payload["user"] == self._user:
                self.number = payload["id"]
            return
        if self.number is None:
            return
        if event.type in {"command.rejected", "command.ignored", "command.done"} and payload["id"] == self.number:
            words = [line.text for line in journal_lines(event)]
            self._answer = Outcome(End(event.type.partition(".")[2]), words[0] if words else payload["text"])
        elif event.type == "resource.motion_queued" and payload.get("command") == self.number:
            self._resource, self._target = event.subject, payload["target"]

    def outcome(self, state: ClusterState) -> Outcome | None:
        """Returns how the command ended, or None while it has not."""
        if self._answer is not None:
            return self._answer
        if self.number is None or self.number in state.commands:
            return None
        origin = f"command/{self.number}"
        for resource, record in state.resources.items():
            if record.request is not None and record.request[2] == origin:
                return None
            if record.origin == origin and record.state in {*MOVING, "request_stop"}:
                return None
            if resource == self._resource and record.node == self._target:
                if record.state != "started" or record.running:
                    return Outcome(End.DONE, f"{resource} is on {self._target}")
                return None
        if self._resource is None:
            return Outcome(End.DONE, "done")
        there = state.resources.get(self._resource)
        return Outcome(
            End.FAILED, f"{self._resource} is on {there.node if there else 'no node'}, not on {self._target}"
        )


async def follow_command(replica: Replica, watch: CommandWatch, seconds: float) -> Outcome | None:
    """Waits for the end of a command; None when the time is over before."""
    try:
        async with asyncio.timeout(seconds):
            while (outcome := watch.outcome(replica.state)) is None:
                try:
                    await replica.follow(FOLLOW_INTERVAL)
                except LogUnavailable:
                    await asyncio.sleep(RETRY_INTERVAL)
            return outcome
    except TimeoutError:
        return None
