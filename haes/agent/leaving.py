"""What becomes of a node's resources when its agent leaves: the shutdown policies."""

from dataclasses import dataclass

from haes import settings
from haes.state.batch import Batch


@dataclass(frozen=True, slots=True)
class Leaving:
    """The mode that the agent leaves in, and whether it stops all its resources itself."""

    mode: str
    stop_all: bool


def plan_leaving(batch: Batch, node: str, mode: str, node_goes: str | None) -> Leaving:
    """Decides how the agent leaves and records it.

    Args:
        batch: takes the events.
        node: the node.
        mode: the agent's present mode.
        node_goes: shutdown or reboot when the node goes down, None when only the agent restarts.
    """
    assert batch.state is not None  # noqa: S101 - agents decide on a working copy
    policy = settings.shutdown_policy(batch.state.settings)
    if node_goes is not None:
        batch.emit("agent.shutdown_requested", node, about=policy, policy=policy)
    moves_all = policy == "migrate"
    freezes_all = policy == "freeze" or (policy == "conditional" and node_goes == "reboot")
    # Resources are stopped in any case unless they move away: a node must not go down under them.
    stop_all = node_goes is not None and not moves_all
    if mode == "maintenance":
        plan = "ignore_policy" if node_goes is not None else "wait_for_maintenance"
        new_mode = mode
    elif node_goes is None:
        plan, new_mode = "restart", "restart"
    elif moves_all:
        plan, new_mode = "maintenance", "maintenance"
    elif freezes_all:
        plan, new_mode = "freeze", "restart"
    else:
        plan, new_mode = "stop", "shutdown"
    batch.emit("agent.leaving", node, about=plan, kind=node_goes or "restart", plan=plan, policy=policy)
    return Leaving(new_mode, stop_all)
