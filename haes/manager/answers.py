"""How the leader answers a command: it is refused, there is nothing to do, or it is done; knows no verb."""

from haes.bounds import shown
from haes.manager.context import Round
from haes.state.records import Command


def reject(round_: Round, command: Command, reason: str, **details: str) -> None:
    """Records that a command is not carried out, and why."""
    _answer(round_, command, "rejected", reason, details)


def ignore(round_: Round, command: Command, reason: str, **details: str) -> None:
    """Records that there is nothing to do for a command, and why."""
    _answer(round_, command, "ignored", reason, details)


def done(round_: Round, command: Command) -> None:
    """Records that a command is carried out in full."""
    cause = f"command/{command.id}"
    round_.batch.emit("command.done", "commands", about=command.verb, cause=cause, id=command.id, text=command.text)


def _answer(round_: Round, command: Command, kind: str, reason: str, details: dict[str, str]) -> None:
    round_.batch.emit(
        f"command.{kind}",
        "commands",
        about=reason,
        cause=f"command/{command.id}",
        id=command.id,
        reason=reason,
        text=command.text,
        # What is quoted in them may be as long as what was written.
        details={name: shown(value) for name, value in details.items()},
    )
