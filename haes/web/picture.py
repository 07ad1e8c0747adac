"""What the page shows of a state: nodes, services, the balancer's memory, as data; pure, and linear in the services."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from events.envelope import Event
from haes.journal import journal_lines
from haes.scheduling.stats import NodeStats
from haes.state.cluster import ClusterState
from replay.moments import say_moment
from replay.report import failures_of

Data = dict[str, Any]


def picture(state: ClusterState) -> Data:
    """Returns the whole state as the page shows it.

    Keys: cluster, n, at, when (in words), leader, disarm, nodes (see `nodes_of`), services (see `service_of`), memory
    (see `memory_of`), parked.
    """
    return {
        "cluster": state.name,
        **brief(state),
        "services": [service_of(state, name) for name in sorted(state.resources.keys() | state.configurations.keys())],
    }


def brief(state: ClusterState) -> Data:
    """Returns what changes with nearly every event, without the services."""
    return {
        "n": state.n,
        "at": state.at,
        "when": say_moment(state.at),
        "leader": state.leader,
        "disarm": None if state.disarm is None else f"{state.disarm.state} ({state.disarm.mode})",
        "nodes": nodes_of(state),
        "memory": memory_of(state),
        "parked": [[subject, parked.n, parked.reason] for subject, parked in sorted(state.parked.items())],
    }


def nodes_of(state: ClusterState) -> list[Data]:
    """Returns for each node, by name: node, state, mode of its agent, services on it, whether in maintenance."""
    services = Counter(record.node for record in state.resources.values())
    return [
        {
            "node": node,
            "state": state.node_state(node),
            "mode": state.agents[node].mode if node in state.agents else None,
            "services": services[node],
            "maintenance": node in state.maintenance,
        }
        for node in sorted(state.members | state.nodes.keys())
    ]


def service_of(state: ClusterState, name: str) -> list[Any]:
    """Returns name, node, requested state, state, running, target of one service; only the name if it is gone."""
    record, configuration = state.resources.get(name), state.configurations.get(name)
    if record is None and configuration is None:
        return [name]
    node = record.node if record is not None else configuration.node if configuration is not None else None
    return [
        name,
        node,
        None if configuration is None else configuration.state,
        None if record is None else record.state,
        record is not None and record.running,
        None if record is None else record.target,
    ]


def memory_of(state: ClusterState) -> Data:
    """Returns what the balancer remembers: series, open motion, failed pairs, services at rest, pause."""
    memory = state.balance
    motion = memory.motion
    return {
        "series": memory.series,
        "motion": None if motion is None else [motion.number, sorted(motion.members), motion.source, motion.target],
        "failures": failures_of(state),
        "cooldowns": [[name, until, until - state.at] for name, until in sorted(memory.cooldowns.items())
                      if until > state.at],
        "paused_until": None if memory.paused_until is None else say_moment(memory.paused_until),
    }  # fmt: skip


def line_of(event: Event) -> Data:
    """Returns an event as a line of the journal: its number, time, author, type, subject, and text for people."""
    lines = journal_lines(event)
    return {
        "n": event.n,
        "when": say_moment(event.at),
        "at": event.at,
        "by": event.by,
        "type": event.type,
        "subject": event.subject,
        "level": lines[0].level if lines else "",
        "text": " / ".join(line.text for line in lines) or event.about,
    }


def changes_of(state: ClusterState, events: Iterable[Event]) -> Data:
    """Returns what the page needs to follow some events: the brief, lines, and the services that they are about."""
    told = list(events)
    subjects = sorted({event.subject for event in told})
    known = {name for name in subjects if name in state.resources or name in state.configurations}
    gone = {event.subject for event in told if event.type in {"resource.removed", "resource.unconfigured"}} - known
    return {
        **brief(state),
        "lines": [line_of(event) for event in told],
        "services": [service_of(state, name) for name in sorted(known | gone)],
    }


def loads_of(loads: Mapping[str, NodeStats]) -> dict[str, Data]:
    """Returns node -> shares of cpu and memory in use, from 0 to 1."""
    return {
        node: {
            "cpu": stats.cpu / stats.maxcpu if stats.maxcpu else 0,
            "mem": stats.mem / stats.maxmem if stats.maxmem else 0,
        }
        for node, stats in sorted(loads.items())
    }
