"""The life of an agent, the part that acts on one node; knows no resources."""

from haes.machines.table import StateMachine

AGENT = StateMachine(
    "agent",
    "startup",
    {
        "startup": ("wait_for_agent_lock",),
        "wait_for_agent_lock": ("active",),
        "active": ("lost_agent_lock", "maintenance", "wait_for_agent_lock"),
        "maintenance": ("lost_agent_lock", "active", "wait_for_agent_lock"),
        "lost_agent_lock": ("active",),
    },
)
