"""How what operators wrote into their own streams becomes commands on the record; knows no verb."""

from typing import Any

from haes.manager.answers import ignore, reject
from haes.manager.context import Round

_SUBJECT = "commands"


def take_over_requests(round_: Round) -> None:
    """Records every request as a command with its user's name; whether it is allowed is looked at after.

    One that cannot be taken over as it was written, or has expired, is rejected at once; one that its author sent
    before under the same key is ignored.
    """
    if _SUBJECT in round_.state.parked:
        # They would not count as received; until an operator lets commands go on they wait in their users' streams.
        return
    for request in round_.inputs.requests:
        number = round_.state.command_count + 1
        before = None if request.key is None else round_.state.request_keys.get(f"{request.user}/{request.key}")
        more: dict[str, Any] = {} if request.expires is None else {"expires": request.expires}
        if request.key is not None:
            more["key"] = request.key
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
            **more,
        )
        command = round_.state.commands[number]
        if request.problem is not None:
            reject(round_, command, "unusable", problem=request.problem, request=request.id)
        elif before is not None:
            ignore(round_, command, "repeated", first=str(before))
        elif request.expires is not None and round_.inputs.at >= request.expires:
            reject(round_, command, "expired")
