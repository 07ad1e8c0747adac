"""What an event says to have followed from came before it: commands, motions, and jobs that were ordered."""

from events.envelope import Event
from haes.state.cluster import ClusterState
from replay.checks.check import Check

# How an agent refers to a job that nobody ordered, such as a stop because its node goes down.
_OWN_JOB = "None"


class Causes(Check):
    """Remembers what there was; of what was trimmed away only numbers are known."""

    name = "causes"

    def __init__(self) -> None:
        super().__init__()
        self._commands: set[int] = set()
        self._motions: set[int] = set()
        self._trimmed = (0, 0)
        self._jobs: dict[str, int] = {}

    def begin(self, state: ClusterState) -> None:
        """See Check."""
        self._trimmed = (state.command_count, state.balance.motions)
        self._jobs = dict.fromkeys(state.configurations, 0)
        self._jobs |= {resource: record.job for resource, record in state.resources.items()}

    def after(self, event: Event, state: ClusterState) -> None:
        """See Check."""
        if event.type == "command.received":
            self._commands.add(event.payload["id"])
        elif event.type == "balance.motion":
            self._motions.add(event.payload["number"])
        elif event.type == "cluster.imported":
            self._jobs |= {resource: record.job for resource, record in state.resources.items()}
        elif event.type == "resource.configured":
            self._jobs.setdefault(event.subject, 0)
        record = state.resources.get(event.subject)
        if record is not None:
            self._jobs[event.subject] = max(record.job, self._jobs.get(event.subject, 0))
        for reference in (event.cause, event.correlation):
            if reference is not None and not self._is_known(reference):
                self.wrong(event, f"refers to {reference}, which is not there before")

    def _is_known(self, reference: str) -> bool:
        kind, _, rest = reference.partition("/")
        if kind == "command":
            return rest.isdigit() and (int(rest) in self._commands or 0 < int(rest) <= self._trimmed[0])
        if kind == "motion":
            return rest.isdigit() and (int(rest) in self._motions or 0 < int(rest) <= self._trimmed[1])
        resource, _, number = rest.rpartition("/")
        if kind != "job" or resource not in self._jobs:
            return False
        return number == _OWN_JOB or (number.isdigit() and int(number) <= self._jobs[resource])

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - see Check
        """See Check."""
        return "every cause that is named came before"
