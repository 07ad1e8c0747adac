"""Whether a leader would refuse a command, as far as the state alone tells; so that it need not be asked in vain.

It is the leader's own judgement on a copy of the state. What may be otherwise a moment later (which nodes are online,
what runs where) is left to the leader.
"""

from events.envelope import Event
from haes.manager.commands import serve_commands
from haes.manager.context import Round
from haes.manager.inputs import Claim, Loads, Request, RoundInputs
from haes.manager.requests import take_over_requests
from haes.manager.rules_in_use import RulesInUse
from haes.state.batch import Batch
from haes.state.cluster import ClusterState

_CERTAIN = frozenset({"unknown", "not_allowed", "undecidable", "unusable"})


def certain_refusal(state: ClusterState, user: str, verb: str, arguments: tuple[str, ...]) -> Event | None:
    """Returns the answer of a leader that is sure to refuse a command, None when it may accept it."""
    copy = state.working_copy()
    batch = Batch(copy, "trial", state.at)
    inputs = RoundInputs(
        at=state.at,
        node="",
        # Nobody counts as online, so that nothing is refused because somebody is.
        online={},
        quorate=True,
        claim_agent=lambda _node: Claim.REFUSED,
        loads=Loads,
        requests=(Request(user, "0-0", verb, arguments),),
        outside=True,
    )
    round_ = Round(copy, batch, inputs, RulesInUse())
    take_over_requests(round_)
    number = copy.command_count
    serve_commands(round_)
    for event in batch.events:
        if event.type == "command.rejected" and event.payload["id"] == number:
            return event if _is_certain(state, event, arguments) else None
    return None


def _is_certain(state: ClusterState, event: Event, arguments: tuple[str, ...]) -> bool:
    match event.payload["reason"]:
        case "no_such_resource":
            # What is configured is looked after from the leader's next round on.
            return arguments[0] not in state.configurations
        case "node_not_online":
            return arguments[-1] not in state.members
        case reason:
            return reason in _CERTAIN
