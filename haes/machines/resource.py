"""The life of a resource as the manager sees it; knows neither nodes nor jobs."""

from haes.machines.table import StateMachine

# A resource whose node vanished goes to `fence`; one on a node in maintenance that vanished may leave `fence` in the
# same round, which is why `fence` has more successors than `recovery`.
RESOURCE = StateMachine(
    "resource",
    "request_stop",
    {
        "request_start": ("started", "request_start_balance", "freeze"),
        "request_start_balance": ("started", "request_stop", "error", "fence", "freeze"),
        "started": ("request_stop", "migrate", "relocate", "fence", "error", "freeze"),
        "request_stop": ("stopped", "error", "fence", "freeze"),
        "stopped": ("request_start", "migrate", "relocate", "fence", "freeze"),
        "migrate": ("started", "request_stop", "error", "fence"),
        "relocate": ("started", "request_stop", "error", "fence"),
        "fence": ("recovery", "request_stop", "migrate", "relocate", "error", "freeze"),
        "recovery": ("started", "request_stop", "stopped"),
        "freeze": ("started", "request_stop"),
        "error": ("stopped", "fence"),
    },
)

# States in which a resource counts as moving.
MOVING = frozenset({"migrate", "relocate"})
