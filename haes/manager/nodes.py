"""Nodes as the leader sees them: who is there, who is gone, who is to be fenced; knows no resources."""

from haes.manager.context import Round
from haes.manager.inputs import Claim

# Seconds after which a node that left the cluster is forgotten.
FORGET_DELAY = 3600


def enter(round_: Round, node: str, state: str) -> None:
    """Records that a node is in another state; nothing when it is not another."""
    previous = round_.state.node_state(node)
    if previous != state:
        round_.batch.emit(f"node.{state}", node, about=f"was {previous}", previous=previous)


def is_operational(round_: Round, node: str) -> bool:
    """Returns whether a node is a working member of the cluster, be it in maintenance."""
    return round_.state.node_state(node) in {"online", "maintenance"}


def observe(round_: Round) -> None:
    """Records who is there, and the changes of state that follow."""
    _observe_membership(round_)
    online = round_.inputs.online
    for node in sorted(online):
        if not online[node]:
            continue
        state = round_.state.node_state(node)
        mode = round_.modes.get(node, "unknown")
        if state == "online" and mode == "maintenance":
            enter(round_, node, "maintenance")
        elif state in {"unknown", "gone"} or (state == "maintenance" and mode != "maintenance"):
            enter(round_, node, "online")
    for node in sorted(round_.state.nodes):
        if online.get(node, False):
            continue
        state = round_.state.node_state(node)
        if state == "online" or (state == "maintenance" and round_.modes.get(node, "unknown") != "maintenance"):
            enter(round_, node, "unknown")
        elif state == "unknown" and node not in online:
            enter(round_, node, "gone")
        elif state == "gone" and is_offline_delayed(round_, node, FORGET_DELAY):
            round_.batch.emit("node.removed", node)


def _observe_membership(round_: Round) -> None:
    here = {node for node, online in round_.inputs.online.items() if online}
    before = round_.state.present
    if here == before:
        return
    seen_at = round_.inputs.previous_round_at
    left = {} if seen_at is None else dict.fromkeys(sorted(before - here), seen_at)
    round_.batch.emit("cluster.membership", "cluster", about=f"{len(here)} nodes", online=sorted(here), left=left)


def is_offline_delayed(round_: Round, node: str, delay: float | None = None) -> bool:
    """Returns whether a node has been away for longer than the delay; the first question starts the clock.

    Args:
        round_: the round.
        node: the node.
        delay: seconds, or None for the cluster's fencing delay.
    """
    state = round_.state
    delay = round_.inputs.fence_delay if delay is None else delay
    if state.node_state(node) == "online":
        return False
    if node in state.present:
        return delay <= 0
    if node not in state.last_online:
        round_.batch.emit("node.absent", node, last_online=round_.inputs.at)
        return False
    return round_.inputs.at - state.last_online[node] >= delay


def fence(round_: Round, node: str) -> bool:
    """Tries to prove that a node runs nothing any more; returns whether it is proven."""
    batch = round_.batch
    if round_.state.node_state(node) != "fence":
        enter(round_, node, "fence")
        batch.emit("notification.sent", node, kind="FENCE", message="fencing_begins", node=node)
    claim = round_.inputs.claim_agent(node)
    if claim is Claim.REFUSED:
        return False
    if claim is Claim.NEW:
        batch.emit("lock.acquired", node, about=f"agent of {node}", lock=f"ha_agent_{node}_lock")
    batch.emit("node.fenced", node)
    enter(round_, node, "unknown")
    batch.emit("notification.sent", node, kind="SUCCEED", message="fenced", node=node)
    return True
