"""No resource runs on two nodes at once, as far as the agents' own reports tell."""

from events.envelope import Event
from haes.state.cluster import ClusterState
from replay.checks.check import Check

_POWER_OFF = ("power", "off")
# People moved or released the resource; where it runs then is not on record until an agent says so.
_BY_HAND = frozenset(
    {"resource.moved_while_disarmed", "resource.location_fixed", "resource.unconfigured", "resource.removed"}
)


class Running(Check):
    """Keeps, for each resource, the nodes on which it was reported to run and not yet to have ended."""

    name = "running"

    def __init__(self) -> None:
        super().__init__()
        # resource -> node -> number of the event since which it runs there
        self._periods: dict[str, dict[str, int]] = {}
        self._count = 0

    def after(self, event: Event, state: ClusterState) -> None:  # noqa: ARG002 - see Check
        """See Check."""
        node = event.by.partition("/")[0]
        match event.type:
            case "job.running":
                self._runs(event, node)
            case "job.stopped" | "service.died":
                self._ends(event.subject, node)
            case "job.moved":
                ran = self._ends(event.subject, node)
                if ran and event.payload["verb"] == "migrate":
                    self._runs(event, event.payload["target"])
            case "node.fenced" | "node.killed" | "simulation.watchdog_fired":
                self._is_off(event.subject)
            case "simulation.command":
                words = event.payload["command"].split()
                if (words[0], words[-1]) == _POWER_OFF:
                    self._is_off(words[1])
            case "resource.configured" if "node" in event.payload["changes"]:
                self._periods.pop(event.subject, None)
            case by_hand if by_hand in _BY_HAND:
                self._periods.pop(event.subject, None)

    def _runs(self, event: Event, node: str) -> None:
        periods = self._periods.setdefault(event.subject, {})
        for other, since in periods.items():
            if other != node:
                self.wrong(
                    event,
                    f"{event.subject} runs on {node} while it runs on {other} since event {since}",
                )
        self._count += node not in periods
        periods.setdefault(node, event.n)

    def _ends(self, resource: str, node: str) -> bool:
        return self._periods.get(resource, {}).pop(node, None) is not None

    def _is_off(self, node: str) -> None:
        for periods in self._periods.values():
            periods.pop(node, None)

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - see Check
        """See Check."""
        return f"{self._count} periods in which a resource ran, none on two nodes at once"
