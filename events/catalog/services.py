"""Events about services as such: what became of their processes while nobody asked for it."""

from events.schema import declare

declare(
    "service.died",
    "run node ran lines exit_code? signal? because? failures? plan? until? series?",
    meaning="the service ended without being asked to: how, after how many seconds, what it printed last; plan: restart"
    " (not before `until`), relocate (failed too often here), none; failures: how many count now on this node; series:"
    " deaths since it was last well",
)
declare("service.healthy", "deaths", meaning="the service has been well for long enough; its deaths count no longer")
declare("service.retried", "command", meaning="an operator lets a service begin anew, whatever its deaths")
