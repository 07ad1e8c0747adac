"""What events about nodes, managers and agents do to the state."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from haes.machines import MANAGER, NODE
from haes.state.cluster import ClusterState
from haes.state.records import AgentRecord, name_in

Payload = Mapping[str, Any]

# Agents report the same few states and modes over and over; records that never change can be shared.
_agent_record = cache(AgentRecord)


def node_added(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`node.added`."""
    state.members.add(subject)


def node_entered(entered: str, state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`node.<state>`."""
    state.nodes[subject] = NODE.apply(state.node_state(subject), entered)
    if entered == "online":
        state.fence_confirmed.discard(subject)


def node_removed(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`node.removed`: the node is forgotten, and with it what the balancer knew about it."""
    state.nodes.pop(subject, None)
    state.members.discard(subject)
    state.last_online.pop(subject, None)
    state.is_clear(subject)
    state.balance.forget_node(subject)


def node_absent(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`node.absent`."""
    state.last_online[subject] = payload["last_online"]


def maintenance_requested(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`maintenance.requested`."""
    state.commands.pop(payload["command"], None)
    state.maintenance.add(subject)


def maintenance_cleared(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`maintenance.cleared`."""
    state.commands.pop(payload["command"], None)
    state.maintenance.discard(subject)


def fence_confirmed(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`node.fence_confirmed`."""
    state.commands.pop(payload["command"], None)
    state.fence_confirmed.add(subject)
    state.is_clear(subject)


def fenced(state: ClusterState, subject: str, _payload: Payload, _at: float) -> None:
    """`node.fenced`: nothing runs there any more."""
    state.is_clear(subject)


def agent_connected(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`agent.connected`: what runs on the node is known, and what does not."""
    state.is_clear(subject, but=payload["running"])


def leader_elected(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    """`leader.elected`: what is known to one leader only starts again."""
    state.leader = name_in(payload["node"])
    state.program = payload.get("program")
    state.policy_version = payload.get("policy_version")
    state.present = set()
    state.last_online = {}
    state.scheduler = None
    state.rules_applied = None
    state.rules_nodes = []
    state.groups_rounds_left = None


def manager_entered(entered: str, state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`manager.<state>`; a manager that starts does so from `startup`, whatever it was before."""
    previous = payload["previous"]
    state.managers[subject] = MANAGER.apply(previous, entered)


def member_announced(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`member.announced`."""
    state.announced[subject] = dict(payload["types"])


def agent_reported(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    """`agent.reported`."""
    state.agents[subject] = _agent_record(payload["state"], payload["mode"])


NODE_HANDLERS: dict[str, Callable[[ClusterState, str, Payload, float], None]] = {
    "node.added": node_added,
    "node.removed": node_removed,
    "node.absent": node_absent,
    "maintenance.requested": maintenance_requested,
    "maintenance.cleared": maintenance_cleared,
    "node.fence_confirmed": fence_confirmed,
    "leader.elected": leader_elected,
    "node.fenced": fenced,
    "agent.connected": agent_connected,
    "agent.reported": agent_reported,
    "member.announced": member_announced,
    **{f"node.{entered}": partial(node_entered, entered) for entered in NODE.states},
    **{
        f"manager.{entered}": partial(manager_entered, entered)
        for entered in MANAGER.states
        if entered != MANAGER.initial
    },
}
