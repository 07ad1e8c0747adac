"""Events about what operators ask for."""

from events.schema import declare

declare(
    "command.received",
    "id verb arguments text user request? expires? key?",
    meaning="an operator asks; it waits for the leader's next round "
    "(request: its entry in the operator's own stream; expires: until when it could be taken over; key: its author's)",
)
declare("command.done", "id text", meaning="what was asked is done; motions and stops are followed by their own events")
declare("command.rejected", "id reason text details?", meaning="the leader does not do what was asked, and why")
declare("command.ignored", "id reason text details?", meaning="there is nothing to do for what was asked, and why")
