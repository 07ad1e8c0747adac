"""The life of a node as the manager sees it; knows no resources."""

from haes.machines.table import StateMachine

NODE = StateMachine(
    "node",
    "unknown",
    {
        "unknown": ("online", "fence", "gone"),
        "online": ("maintenance", "unknown", "fence"),
        "maintenance": ("online", "unknown", "fence"),
        "fence": ("unknown",),
        "gone": ("online", "fence"),
    },
)
