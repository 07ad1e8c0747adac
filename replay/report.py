"""What a state says, as data for people and programs: resources, nodes, leader, motions, failures, cooldowns.

Everything here is derived from a state alone; nothing is read and nothing is printed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from haes import settings
from haes.journal.balance_words import left_out, why_nothing
from haes.state.cluster import ClusterState
from haes.state.describe import describe_balance
from replay.moments import say_moment, say_time


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people: a title, names of columns, rows of texts, and what is said when there is no row."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    empty: str


def summary(state: ClusterState) -> dict[str, Any]:
    """Returns what a state says, as JSON-like data. Times are domain time in seconds."""
    return {
        "cluster": state.name,
        "n": state.n,
        "at": state.at,
        "epoch": state.epoch,
        "leader": state.leader,
        "scheduler": state.scheduler,
        "disarm": None if state.disarm is None else {"mode": state.disarm.mode, "state": state.disarm.state},
        "nodes": [_node(state, node) for node in sorted(state.members | state.nodes.keys())],
        "resources": [
            _resource(state, resource) for resource in sorted(state.resources.keys() | state.configurations.keys())
        ],
        "pending": _pending(state),
        "balance": describe_balance(state),
        "failures": failures_of(state),
        "cooldowns": _cooldowns(state),
        "parked": [
            {"subject": subject, "n": parked.n, "reason": parked.reason}
            for subject, parked in sorted(state.parked.items())
        ],
    }


def _node(state: ClusterState, node: str) -> dict[str, Any]:
    agent = state.agents.get(node)
    return {
        "node": node,
        "state": state.node_state(node),
        "manager": state.managers.get(node),
        "agent": None if agent is None else agent.state,
        "mode": None if agent is None else agent.mode,
        "maintenance_requested": node in state.maintenance,
        "resources": sum(record.node == node for record in state.resources.values()),
    }


def _resource(state: ClusterState, resource: str) -> dict[str, Any]:
    record, configuration = state.resources.get(resource), state.configurations.get(resource)
    memory = state.services.get(resource)
    return {
        "resource": resource,
        "requested": None if configuration is None else configuration.state,
        "state": None if record is None else record.state,
        "node": record.node if record is not None else configuration.node if configuration is not None else None,
        "target": None if record is None else record.target,
        "running": record is not None and record.running,
        "failed_nodes": [] if record is None else list(record.failed_nodes or ()),
        "deaths": [] if memory is None else [asdict(death) for death in memory.deaths],
        "series": 0 if memory is None else memory.series,
        "next_try": None if memory is None else memory.until,
    }


def _pending(state: ClusterState) -> list[dict[str, Any]]:
    """Returns the motions that wait or are under way: those of the balancer by member, and everybody else's."""
    pending: list[dict[str, Any]] = []
    motion = state.balance.motion
    for resource, record in sorted(state.resources.items()):
        if record.request is not None and record.request[0] != "stop":
            verb, target, stage = record.request[0], record.request[1], "queued"
        elif record.state in {"migrate", "relocate"}:
            verb, target, stage = record.state, record.target, "under way"
        else:
            continue
        pending.append(
            {
                "resource": resource,
                "verb": verb,
                "source": record.node,
                "target": target,
                "stage": stage,
                "origin": record.origin if record.request is None else record.request[2],
                "balancer": motion is not None and resource in motion.members,
            }
        )
    known = {row["resource"] for row in pending}
    if motion is not None:
        pending += [
            {
                "resource": resource,
                "verb": motion.verb,
                "source": motion.source,
                "target": motion.target,
                "stage": "outcome not yet recorded",
                "origin": f"motion/{motion.number}",
                "balancer": True,
            }
            for resource in motion.open_members()
            if resource not in known
        ]
    return pending


def failures_of(state: ClusterState) -> list[dict[str, Any]]:
    """Returns the pairs that failed, how often, and how long each is left out from the state's moment on."""
    rows = []
    for (resource, target), failure in sorted(state.balance.failures.items()):
        by_time = failure.until is not None and state.at < failure.until
        by_series = failure.first_series is not None and state.balance.series < failure.first_series
        rows.append(
            {
                "resource": resource,
                "target": target,
                "attempts": failure.attempts,
                "reason": failure.reason,
                "until": failure.until,
                "seconds_left": max(0, failure.until - state.at) if failure.until is not None else None,
                "first_series": failure.first_series,
                "left_out": by_time or by_series,
            }
        )
    return rows


def _cooldowns(state: ClusterState) -> list[dict[str, Any]]:
    return [
        {"resource": resource, "until": until, "seconds_left": max(0, until - state.at), "rests": state.at < until}
        for resource, until in sorted(state.balance.cooldowns.items())
    ]


def tables(state: ClusterState) -> list[Table]:
    """Returns what a state says as tables, in the order in which an operator asks."""
    said = summary(state)
    return [
        Table(
            "Nodes",
            ("node", "state", "manager", "agent", "mode", "resources"),
            [
                tuple(_text(row[key]) for key in ("node", "state", "manager", "agent", "mode", "resources"))
                for row in said["nodes"]
            ],
            "no node is known",
        ),
        Table(
            "Resources",
            ("resource", "requested", "state", "node", "target", "running"),
            [
                tuple(_text(row[key]) for key in ("resource", "requested", "state", "node", "target", "running"))
                for row in said["resources"]
            ],
            "no resource is known",
        ),
        *balance_tables(state),
        *(
            [
                Table(
                    "Parked: events that could not be applied",
                    ("subject", "event", "why"),
                    [(row["subject"], _text(row["n"]), row["reason"]) for row in said["parked"]],
                    "none",
                )
            ]
            if said["parked"]
            else []
        ),
    ]


def balance_tables(state: ClusterState) -> list[Table]:
    """Returns what the balancer remembers as tables."""
    said = summary(state)
    refusal = state.balance.refusal
    advice = state.balance.advice
    return [
        Table(
            "Pending motions",
            ("resource", "motion", "from", "to", "stage", "asked for by"),
            [
                tuple(_text(row[key]) for key in ("resource", "verb", "source", "target", "stage", "origin"))
                for row in said["pending"]
            ],
            "none",
        ),
        Table(
            "Failures of the balancer's motions",
            ("resource", "to", "attempts", "left out", "why"),
            [
                (row["resource"], row["target"], _text(row["attempts"]), _backoff(row), row["reason"])
                for row in said["failures"]
            ],
            "none",
        ),
        *(
            [
                Table(
                    "Nodes that motions failed to reach, whatever was to go there",
                    ("node", "failures", "left alone", "why"),
                    [
                        (
                            node,
                            str(trouble.failures),
                            f"until {say_time(trouble.until or 0)}" if memory.node_rests(node, state.at) else "no",
                            trouble.reason,
                        )
                        for node, trouble in sorted(memory.nodes.items())
                    ],
                    "none",
                )
            ]
            if (memory := state.balance).nodes
            else []
        ),
        Table(
            "Cooldowns",
            ("resource", "until", "left"),
            [
                (row["resource"], say_time(row["until"]), f"{row['seconds_left']:g} s" if row["rests"] else "over")
                for row in said["cooldowns"]
            ],
            "none",
        ),
        Table(
            "The balancer did nothing last time because",
            ("why",),
            [] if refusal is None else [(why_nothing(refusal[0], _mapping(refusal[1]), say_moment),)],
            _never_refused(state),
        ),
        *_refusal_tables({} if refusal is None else _mapping(refusal[1])),
        *([Table("Advice", ("resource", "to"), [advice], "none")] if advice is not None else []),
    ]


def _never_refused(state: ClusterState) -> str:
    """Returns what is said of a balancer that gave no reason."""
    is_off = settings.crs(state.settings, "ha-auto-rebalance") == settings.BALANCER_OFF
    return "it is off (setting ha-auto-rebalance)" if is_off else "it acted, or never looked"


def _refusal_tables(details: Mapping[str, Any]) -> list[Table]:
    """Returns what the balancer looked at when it did nothing, where that is on record."""
    best, excluded = details.get("best") or (), details.get("excluded") or ()
    found = []
    if best:
        rows: list[tuple[str, ...]] = [
            (item["resource"], item["source"], item["target"], f"{item['after'] * 100:.1f}%") for item in best
        ]
        found.append(Table("The best motion then", ("resource", "from", "to", "imbalance after"), rows, "none"))
    if excluded:
        rows = [(left_out(item, say_moment),) for item in excluded]
        found.append(Table("Left out then", ("what, and why",), rows, "nothing"))
    return found


def _mapping(details: Any) -> Mapping[str, Any]:
    return details if isinstance(details, Mapping) else {}


def headline(state: ClusterState) -> str:
    """Returns one line on where the replay ended."""
    disarm = "" if state.disarm is None else f", HA is {state.disarm.state} ({state.disarm.mode})"
    paused = state.balance.paused_until
    breaker = f", {state.balance.failed_in_a_row} failed in a row" if state.balance.failed_in_a_row else ""
    breaker += f", paused until {say_time(paused)}" if paused is not None and state.at < paused else ""
    return (
        f"cluster {state.name}: {state.n} events, up to {say_moment(state.at)}; leader {state.leader or 'nobody'}; "
        f"scheduler {state.scheduler or 'not chosen'}; balancer: series {state.balance.series}, "
        f"{state.balance.motions} motions{breaker}{disarm}"
    )


def _backoff(row: dict[str, Any]) -> str:
    if row["first_series"] is not None:
        return f"until series {row['first_series']}" if row["left_out"] else "no longer"
    if row["until"] is not None:
        return f"{row['seconds_left']:g} s, until {say_time(row['until'])}" if row["left_out"] else "no longer"
    return "never"


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
