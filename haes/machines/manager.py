"""The life of a manager process, which leads (`master`) or stands by; knows no resources."""

from haes.machines.table import StateMachine

MANAGER = StateMachine(
    "manager",
    "startup",
    {
        "startup": ("wait_for_quorum",),
        "wait_for_quorum": ("master", "slave"),
        "slave": ("master", "wait_for_quorum"),
        "master": ("lost_manager_lock", "wait_for_quorum"),
        "lost_manager_lock": ("master", "wait_for_quorum"),
    },
)
