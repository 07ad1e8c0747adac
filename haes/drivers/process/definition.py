"""What a driver needs to know to run a service: its command line and how to treat it; checked before it is used."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from haes.state.records import ResourceConfiguration

# Seconds for a service to end after SIGTERM before what is left of it is killed. What service managers allow, too.
STOP_TIMEOUT = 60.0
# Seconds for a check command to answer.
CHECK_TIMEOUT = 5.0
# Seconds between two checks, and how many in a row must fail: one bad answer is forgiven.
CHECK_INTERVAL = 5.0
CHECK_FAILURES = 2
# Seconds that a service has after its start until its check passes for the first time.
CHECK_GRACE = 60.0
# Seconds for which a service without a check must stay up after its start to count as up: a wrong option or a port
# that is taken ends most programs sooner.
READY_AFTER = 0.5


@dataclass(frozen=True, slots=True)
class ServiceDefinition:
    """How a service is run.

    Attributes:
        command: program and arguments; no shell is involved.
        environment: variables besides those of the agent.
        environment_file: a file of the node with more of them, NAME=VALUE in each line; None for none.
        directory: where it runs, None for the node's own folder.
        stop_timeout: seconds after SIGTERM.
        check: a command whose exit status 0 says that the service is well; None for none.
        check_timeout: seconds for it.
        check_interval: seconds between two checks.
        check_failures: so many in a row end the service.
        check_grace: seconds after a start until its check must have passed for the first time.
        ready_after: seconds after its start from which a service without a check counts as up.
        keep: it goes on when the node cannot reach the log for a term.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None
    stop_timeout: float = STOP_TIMEOUT
    check: tuple[str, ...] | None = None
    check_timeout: float = CHECK_TIMEOUT
    check_interval: float = CHECK_INTERVAL
    check_failures: int = CHECK_FAILURES
    check_grace: float = CHECK_GRACE
    ready_after: float = READY_AFTER
    keep: bool = False
    environment_file: str | None = None


def definition_of(configuration: ResourceConfiguration) -> ServiceDefinition | None:
    """Returns the definition in a resource's configuration; None when there is no command in it."""
    service = configuration.service
    if not service.get("command"):
        return None
    check = service.get("check")
    return ServiceDefinition(
        command=tuple(service["command"]),
        environment=dict(service.get("environment", {})),
        directory=service.get("directory"),
        stop_timeout=float(service.get("stop_timeout", STOP_TIMEOUT)),
        check=tuple(check) if check else None,
        check_timeout=float(service.get("check_timeout", CHECK_TIMEOUT)),
        check_interval=float(service.get("check_interval", CHECK_INTERVAL)),
        check_failures=int(service.get("check_failures", CHECK_FAILURES)),
        check_grace=float(service.get("check_grace", CHECK_GRACE)),
        ready_after=float(service.get("ready_after", READY_AFTER)),
        keep=configuration.on_store_loss == "keep",
        environment_file=service.get("environment_file"),
    )
