"""When what was asked for is so, or is known not to become so: one class for each kind of effect; decides nothing.

A leader answers a command when it has put it on the record. Whether a service then really runs, stops or moves shows
later, in the events about it and in the state that they lead to.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from events.envelope import Event
from haes.clock import boottime
from haes.live.command_words import what_is_done, why_dropped, why_exited
from haes.machines.resource import MOVING
from haes.state.cluster import ClusterState
from haes.state.records import ResourceRecord

# Seconds that a service must stay up after its agent said that it runs: agents look every 5 s unless a cluster says
# otherwise, and whatever ended is known a moment after that.
STEADY = 6.0


class End(Enum):
    """How a command ended."""

    TAKEN = "taken"
    DONE = "done"
    IGNORED = "ignored"
    REJECTED = "rejected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended, and in words why."""

    end: End
    text: str


class Effect(Protocol):
    """What a command is to bring about."""

    def see(self, event: Event) -> None:
        """Takes an event into account that came after the leader received the command."""

    def outcome(self, state: ClusterState) -> Outcome | None:
        """Returns how it ended, None while it has not."""


def effect_of(number: int, verb: str, arguments: Sequence[str], steady: float) -> Effect:
    """Returns what a command is to bring about.

    Args:
        number: of the command.
        verb: its verb.
        arguments: what it is about.
        steady: seconds for which a service must stay up to count as running.
    """
    origin = f"command/{number}"
    match verb, list(arguments):
        case "migrate" | "relocate", [resource, target]:
            return _Moves(resource, target, origin, steady)
        case "stop", [resource, _]:
            return _Configured(resource, origin, steady)
        case "configure", [resource, text] if _is_about_running(text):
            return _Configured(resource, origin, steady)
        case "retry", [resource]:
            return _Configured(resource, origin, steady)
        case "unconfigure", [resource]:
            return _Leaves(resource, steady)
        case "enable-node-maintenance", [node]:
            return _Empties(node)
        case "disable-node-maintenance", [node]:
            return _Serves(node)
        case "disarm-ha" | "arm-ha", _:
            return _Armed(wanted=verb == "arm-ha")
        case _:
            return AtOnce(what_is_done(verb, arguments))


def _is_about_running(text: str) -> bool:
    """Returns whether a change of configuration may start or stop something: one that adds a resource does."""
    try:
        values = json.loads(text)
    except ValueError:
        return False
    return isinstance(values, dict) and bool(values.keys() & {"state", "node"})


class AtOnce:
    """What is so as soon as the leader has said that it is."""

    def __init__(self, text: str) -> None:
        self._done = Outcome(End.DONE, text)

    def see(self, event: Event) -> None:
        """Nothing more is to come."""

    def outcome(self, _state: ClusterState) -> Outcome:
        """It is so."""
        return self._done


class _Running:
    """Watches a resource until it has been up for a while, or is known not to stay up."""

    def __init__(self, resource: str, steady: float) -> None:
        self._resource, self._steady = resource, steady
        # When it was last said to run, by `boottime`; None for one that ran all the time.
        self._up_since: float | None = None
        self._failed: list[str] = []
        self._ended_after: float | None = None
        self._died: str | None = None

    def see(self, event: Event) -> None:
        if event.subject != self._resource:
            return
        match event.type:
            case "resource.confirmed":
                self._up_since = boottime()
            case "service.died" if event.payload.get("series"):
                self._died = f"{self._resource} ended by itself on {event.payload['node']}: {event.about}"
            case "job.starting" if self._up_since is not None and self._died is None:
                self._ended_after = boottime() - self._up_since
            case "resource.start_failed":
                self._failed.append(f"its start failed on {event.payload['node']}: {_why(event)}")
            case "resource.motion_failed" | "resource.stop_failed":
                self._failed.append(f"its {event.type.partition('.')[2].replace('_', ' ')}: {_why(event)}")

    def because(self) -> str:
        """Returns what went wrong on the way, to go behind a sentence."""
        return f" ({'; '.join(dict.fromkeys(self._failed))})" if self._failed else ""

    def outcome(self, record: ResourceRecord) -> Outcome | None:
        if record.state == "error":
            return Outcome(
                End.FAILED,
                f"{self._resource} is in error{self.because()}; mend the cause, then 'haes retry {self._resource}'",
            )
        if self._died is not None:
            return Outcome(End.FAILED, f"{self._died}; haes status shows how it goes on")
        if self._ended_after is not None:
            text = f"{self._resource} ended {self._ended_after:.0f} s after its start on {record.node}"
            return Outcome(End.FAILED, f"{text} and is started again; haes status shows how it goes on")
        if record.state != "started" or not record.running:
            return None
        if self._up_since is not None and boottime() - self._up_since < self._steady:
            return None
        return Outcome(End.DONE, f"{self._resource} runs on {record.node}{self.because()}")


class _Configured:
    """A resource does what its configuration asks for: it runs, or it does not."""

    def __init__(self, resource: str, origin: str, steady: float) -> None:
        self._resource, self._origin = resource, origin
        self._running = _Running(resource, steady)
        self._stop_failed: str | None = None

    def see(self, event: Event) -> None:
        self._running.see(event)
        if event.subject == self._resource and event.type == "resource.stop_failed":
            self._stop_failed = f"{self._resource} could not be stopped: {_why(event)}"

    def outcome(self, state: ClusterState) -> Outcome | None:
        configuration, record = state.configurations.get(self._resource), state.resources.get(self._resource)
        if configuration is None:
            return Outcome(End.FAILED, f"{self._resource} has left the cluster meanwhile")
        if self._stop_failed is not None:
            return Outcome(End.FAILED, self._stop_failed)
        if record is None:
            # The leader looks after it from its next round on.
            ignored = configuration.state == "ignored"
            return Outcome(End.DONE, f"HA leaves {self._resource} alone") if ignored else None
        if record.request is not None and record.request[2] == self._origin:
            return None
        if configuration.state == "started":
            return self._running.outcome(record)
        if record.state == "error" and configuration.state == "stopped":
            return Outcome(End.FAILED, f"{self._resource} is in error and stays so; its state has to be disabled first")
        return Outcome(End.DONE, f"{self._resource} is stopped") if record.state == "stopped" else None


class _Moves:
    """A resource is on its target and does there what it is to do."""

    def __init__(self, resource: str, target: str, origin: str, steady: float) -> None:
        self._resource, self._target, self._origin = resource, target, origin
        self._running = _Running(resource, steady)
        self._dropped: str | None = None
        self._failed_there: str | None = None

    def see(self, event: Event) -> None:
        self._running.see(event)
        if event.subject != self._resource:
            return
        if event.type == "resource.request_dropped":
            self._dropped = why_dropped(self._resource, event.payload)
        elif event.type == "resource.start_failed" and event.payload["node"] == self._target:
            self._failed_there = _why(event)

    def outcome(self, state: ClusterState) -> Outcome | None:
        record = state.resources.get(self._resource)
        if record is None:
            return Outcome(End.FAILED, f"{self._resource} has left the cluster meanwhile")
        if self._dropped is not None:
            return Outcome(End.FAILED, f"it came to nothing: {self._dropped}")
        if self._failed_there is not None:
            return Outcome(
                End.FAILED,
                f"{self._resource} was moved, but its start failed on {self._target}: {self._failed_there}",
            )
        if record.request is not None and record.request[2] == self._origin:
            return None
        if record.origin == self._origin and record.state in {*MOVING, "request_stop"}:
            return None
        if record.node != self._target:
            text = f"{self._resource} is on {record.node}, not on {self._target}{self._running.because()}"
            return Outcome(End.FAILED, text)
        if record.state == "stopped":
            return Outcome(End.DONE, f"{self._resource} is on {self._target}, stopped")
        found = self._running.outcome(record)
        if found is None or found.end is not End.DONE:
            return found
        return Outcome(End.DONE, f"{self._resource} is on {self._target}")


class _Leaves:
    """Nothing looks after a resource any more, and it does not run on."""

    def __init__(self, resource: str, patience: float) -> None:
        self._resource, self._patience = resource, patience
        self._stopped = False
        self._gone_since: float | None = None

    def see(self, event: Event) -> None:
        if event.subject == self._resource and event.type in {"resource.stray_stopped", "job.stopped"}:
            self._stopped = True

    def outcome(self, state: ClusterState) -> Outcome | None:
        if self._resource in state.resources:
            return None
        if self._stopped:
            return Outcome(End.DONE, f"{self._resource} has left the cluster and is stopped")
        # What did not run is not stopped, and nobody says so; what ran is stopped by its agent at once.
        self._gone_since = self._gone_since or boottime()
        if boottime() - self._gone_since < self._patience:
            return None
        return Outcome(End.DONE, f"{self._resource} has left the cluster; no agent had to stop it")


class _Empties:
    """A node is in maintenance, and nothing runs there."""

    def __init__(self, node: str) -> None:
        self._node = node

    def see(self, event: Event) -> None:
        pass

    def outcome(self, state: ClusterState) -> Outcome | None:
        if self._node not in state.maintenance and state.node_state(self._node) == "online":
            return Outcome(End.FAILED, f"{self._node} was put back into service meanwhile")
        left = [name for name, item in state.resources.items() if item.node == self._node and item.state != "stopped"]
        if left or state.node_state(self._node) != "maintenance":
            return None
        return Outcome(End.DONE, f"{self._node} is in maintenance, and nothing runs there")


class _Serves:
    """A node is not in maintenance any more."""

    def __init__(self, node: str) -> None:
        self._node = node

    def see(self, event: Event) -> None:
        pass

    def outcome(self, state: ClusterState) -> Outcome | None:
        node_state = state.node_state(self._node)
        return None if node_state == "maintenance" else Outcome(End.DONE, f"{self._node} is {node_state}")


class _Armed:
    """HA is in action, or fully out of it."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted

    def see(self, event: Event) -> None:
        pass

    def outcome(self, state: ClusterState) -> Outcome | None:
        if state.disarm is None:
            return Outcome(End.DONE if self._wanted else End.FAILED, "HA is in action")
        if self._wanted or state.disarm.state != "disarmed":
            return None
        return Outcome(End.DONE, "HA is out of action")


def _why(event: Event) -> str:
    return why_exited(event.payload["exit_code"])
