"""Events about services as such: what became of their processes while nobody asked for it."""

from events.schema import declare

declare(
    "service.died",
    "run node ran lines exit_code? signal? because? failures? plan? until?",
    meaning="the service ended without being asked to: how, after how many seconds, what it printed last; plan: restart"
    " (not before `until`), relocate (failed too often here), none; failures: how many count now on this node",
)
