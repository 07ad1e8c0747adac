"""Services that end by themselves, in words: what somebody should look at, and how each stands. Reads only a state."""

from haes import settings
from haes.state.cluster import ClusterState
from haes.state.restarts import REMEMBERED, ServiceMemory, describe_series

# From this death of a series on somebody should look: one alone may happen to anybody.
TELLING = 2


def failing_services(state: ClusterState, now: float) -> list[str]:
    """Returns a line for every service that fails again and again, in a series or slowly, and for every one in error.

    Args:
        state: the cluster's state.
        now: domain time.
    """
    found = []
    flapping = settings.ha(state.settings, "flapping-deaths")
    for resource in sorted(state.resources.keys() | state.services.keys()):
        record, memory = state.resources.get(resource), state.services.get(resource, ServiceMemory())
        if record is not None and record.state == "error":
            why = describe_series(memory)
            found.append(
                f"{resource} is in error{f': {why}' if why else ''}; fix it, then 'haes retry {resource}' lets it begin"
                " anew"
            )
        elif memory.series >= TELLING:
            found.append(f"{resource} is {how_it_fails(memory, now)}")
        elif memory.recent(now) >= flapping:
            last = memory.deaths[-1]
            found.append(
                f"{resource} dies again and again: {memory.recent(now)} deaths in the last {REMEMBERED / 60:.0f} min;"
                f" the last one {now - last.at:.0f} s ago on {last.node}: {last.how}"
            )
    return found


def how_it_fails(memory: ServiceMemory, now: float) -> str:
    """Returns how a series stands: what it exits with, how often it was started again, when it is tried next."""
    deaths = memory.in_series()
    restarts = memory.series - (0 if memory.up_since is not None else 1)
    since = now - (memory.began if memory.began is not None else now)
    said = f"failing: {deaths[-1].how if deaths else 'it ended'}"
    said += f", {restarts} restart{'' if restarts == 1 else 's'} in {since:.0f} s"
    if memory.until is not None and now < memory.until:
        return f"{said}, next try in {memory.until - now:.0f} s"
    if memory.up_since is not None:
        return f"{said}, up for {now - memory.up_since:.0f} s"
    return f"{said}, starting"
