"""What an event says to have followed from came before it: commands, motions, and jobs that were ordered."""

from events.envelope import Event
from haes.state.cluster import ClusterState
from replay.checks.check import Check, Finding

# How an agent refers to a job that nobody ordered, such as a stop because its node goes down.
_OWN_JOB = "None"
# Events that name what the log lost.
_LOSSES = frozenset({"log.regressed", "log.restored"})


class Causes(Check):
    """Remembers what there was; of what was trimmed away only numbers are known."""

    name = "causes"

    def __init__(self) -> None:
        super().__init__()
        self._commands: set[int] = set()
        self._motions: set[int] = set()
        self._trimmed = (0, 0)
        self._jobs: dict[str, int] = {}
        # Resources whose orders may be among what the log lost: their agents' reports outlive the orders.
        self._orders_lost: set[str] = set()
        self._unknown_jobs: list[tuple[str, Finding]] = []

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
        if event.type in _LOSSES:
            self._excuse(event)
        for reference in (event.cause, event.correlation):
            if reference is not None and not self._is_known(reference):
                self.wrong(event, f"refers to {reference}, which is not there before")
                if reference.startswith("job/"):
                    self._unknown_jobs.append((_resource_of(reference), self.findings[-1]))

    def _excuse(self, event: Event) -> None:
        """Takes back what was said of jobs whose orders were lost; agents may report them before the loss is told."""
        lost = event.payload["lost"]
        known, found = event.payload["known_n"], event.payload.get("found_n", event.payload.get("n"))
        # Where not every lost event is named, any order may be among them.
        names = {subject for _, _, subject in lost} if known - found <= len(lost) else set(self._jobs)
        self._orders_lost |= names
        excused = [finding for resource, finding in self._unknown_jobs if resource in names]
        self.findings = [finding for finding in self.findings if finding not in excused]

    def _is_known(self, reference: str) -> bool:
        kind, _, rest = reference.partition("/")
        if kind == "command":
            return rest.isdigit() and (int(rest) in self._commands or 0 < int(rest) <= self._trimmed[0])
        if kind == "motion":
            return rest.isdigit() and (int(rest) in self._motions or 0 < int(rest) <= self._trimmed[1])
        resource, _, number = rest.rpartition("/")
        if kind != "job" or resource not in self._jobs:
            return False
        if resource in self._orders_lost:
            return number == _OWN_JOB or number.isdigit()
        return number == _OWN_JOB or (number.isdigit() and int(number) <= self._jobs[resource])

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - see Check
        """See Check."""
        return "every cause that is named came before"


def _resource_of(job: str) -> str:
    """Returns whom a reference `job/RESOURCE/NUMBER` is about."""
    return job.partition("/")[2].rpartition("/")[0]
