"""How what operators wrote into their own streams becomes commands on the record; knows no verb."""

from haes.manager.answers import reject
from haes.manager.context import Round

_SUBJECT = "commands"


def take_over_requests(round_: Round) -> None:
    """Records every request as a command with its user's name; whether it is allowed is looked at after.

    One that cannot be taken over as it was written is rejected at once.
    """
    if _SUBJECT in round_.state.parked:
        # They would not count as received; until an operator lets commands go on they wait in their users' streams.
        return
    for request in round_.inputs.requests:
        number = round_.state.command_count + 1
        text = " ".join([request.verb, *(argument for argument in request.arguments if argument)])
        round_.batch.emit(
            "command.received",
            _SUBJECT,
            about=text,
            correlation=f"command/{number}",
            id=number,
            verb=request.verb,
            arguments=list(request.arguments),
            text=text,
            user=request.user,
            request=request.id,
        )
        if request.problem is not None:
            reject(round_, round_.state.commands[number], "unusable", problem=request.problem, request=request.id)
