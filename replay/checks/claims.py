"""What a motion of the balancer says of itself holds, whichever version of the program decided it.

Another version may choose otherwise, but it may not move what is elsewhere, what rests, or where nobody is.
"""

from events.envelope import Event
from haes import settings
from haes.state.cluster import ClusterState
from replay.checks.check import Check


class Claims(Check):
    """Looks at each motion with the state that it was decided on."""

    name = "claims"

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def before(self, event: Event, state: ClusterState) -> None:
        """See Check."""
        if event.type == "balance.motion":
            self._count += 1
            for text in (*_where(event, state), *_left_out(event, state), *_why(event, state)):
                self.wrong(event, f"motion {event.payload['number']} {text}")

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - see Check
        """See Check."""
        return f"{self._count} motions of the balancer were possible and called for"


def _where(event: Event, state: ClusterState) -> list[str]:
    """Returns what is wrong with where the members are and where they go."""
    source, target = event.payload["source"], event.payload["target"]
    wrong = []
    if state.node_state(target) != "online":
        wrong.append(f"is to {target}, which is not online")
    for member in event.payload["members"]:
        record = state.resources.get(member)
        if record is None or record.state != "started":
            wrong.append(f"is of {member}, which is {'not known' if record is None else record.state}")
        elif record.node == target:
            wrong.append(f"is to {target}, where {member} is")
        elif record.node != source:
            wrong.append(f"is from {source}, {member} is on {record.node}")
    return wrong


def _left_out(event: Event, state: ClusterState) -> list[str]:
    """Returns the members that were to be left in peace."""
    memory, target, wrong = state.balance, event.payload["target"], []
    for member in event.payload["members"]:
        until = memory.cooldowns.get(member)
        if until is not None and event.at < until:
            wrong.append(f"is of {member}, which rests until {until:g} s")
        failure = memory.failures.get((member, target))
        policy = event.payload["policy"]
        if failure is None:
            continue
        if policy == "time" and failure.until is not None and event.at < failure.until:
            wrong.append(f"is of {member} to {target}, which is left out until {failure.until:g} s")
        if policy == "series" and failure.first_series is not None and memory.series < failure.first_series:
            wrong.append(f"is of {member} to {target}, which is left out until series {failure.first_series}")
    return wrong


def _why(event: Event, state: ClusterState) -> list[str]:
    """Returns what is wrong with the reason for the motion."""
    payload, wrong = event.payload, []

    def setting(name: str) -> object:
        return settings.crs(state.settings, f"ha-auto-rebalance{name}")

    if payload["after"] >= payload["before"]:
        wrong.append(f"raises the imbalance from {payload['before']:.1%} to {payload['after']:.1%}")
    threshold, hold = float(str(setting("-threshold"))), int(str(setting("-hold-duration")))
    if setting("-max-spread") is None and payload["before"] * 100 <= threshold:
        wrong.append(f"was issued at an imbalance of {payload['before']:.1%}, within the threshold of {threshold:g}%")
    if payload["streak"] < hold:
        wrong.append(f"was issued after {payload['streak']} rounds over the threshold, {hold} are asked for")
    if payload["policy"] != setting("-backoff"):
        wrong.append(f"is of policy {payload['policy']}, set is {setting('-backoff')}")
    return wrong
