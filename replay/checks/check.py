"""What checks have in common: they see events with the state before and after, note what is wrong, and sum up."""

from dataclasses import dataclass

from events.envelope import Event
from haes.state.cluster import ClusterState


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: at which event, by which check, and what."""

    n: int
    check: str
    text: str


class Check:
    """One rule. A check that needs nothing of a step leaves it out.

    Attributes:
        name: names the rule in findings and sums.
        findings: what is wrong.
    """

    name = ""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def begin(self, state: ClusterState) -> None:
        """Looks at the state before the first event; it is empty unless the stream's beginning was trimmed."""

    def before(self, event: Event, state: ClusterState) -> None:
        """Looks at the next event and the state that it meets."""

    def after(self, event: Event, state: ClusterState) -> None:
        """Looks at the event and the state that it led to."""

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - a port
        """Returns what was found good, with what is still open; only looked at where there are no findings."""
        return ""

    def wrong(self, event: Event, text: str) -> None:
        """Notes that something is wrong with an event."""
        self.findings.append(Finding(event.n, self.name, text))
