"""What operators ask for, looked at once a round in the order in which it came."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from events.codec import encode_for_append
from haes.bounds import LONGEST_STOP, shown, shown_error
from haes.manager import configuration
from haes.manager.answers import done, ignore, reject
from haes.manager.context import Round
from haes.manager.motions import blocked_by, queue_motion
from haes.manager.resources import enter
from haes.state.batch import Batch
from haes.state.records import Command


def serve_commands(round_: Round) -> None:
    """Accepts, rejects or ignores every command that waits; one that cannot be decided stops none of the others."""
    for number in sorted(round_.state.commands):
        command = round_.state.commands[number]
        problem = _try(round_, command)
        if problem is None:
            _serve(round_, command)
        else:
            reject(round_, command, "undecidable", problem=problem)


def _try(round_: Round, command: Command) -> str | None:
    """Serves a command on a copy; returns why it, or an event that it leads to, cannot be made, None if all can."""
    state = round_.state.working_copy()
    batch = Batch(state, round_.batch.by, round_.batch.at)
    try:
        _serve(replace(round_, state=state, batch=batch), command)
        for event in batch.events:
            encode_for_append(event)
            if event.subject in state.parked:
                return f"{event.subject} is parked: {state.parked[event.subject].reason}"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this command's alone
        return shown_error(error)
    return None


def _serve(round_: Round, command: Command) -> None:
    verb = _VERBS.get(command.verb)
    if verb is None or len(command.arguments) != verb.arguments:
        reject(round_, command, "unknown")
    else:
        verb.serve(round_, command)


def _motion(round_: Round, command: Command) -> None:
    resource, target = command.arguments
    record = round_.state.resources.get(resource)
    if record is None:
        reject(round_, command, "no_such_resource")
    elif round_.state.node_state(target) != "online":
        reject(round_, command, "node_not_online")
    elif record.node == target:
        ignore(round_, command, "already_there")
    else:
        other = blocked_by(round_, resource, target)
        if other is not None:
            reject(round_, command, "negative_affinity", resource=resource, other=other, target=target)
            return
        origin = f"command/{command.id}"
        queue_motion(round_, resource, command.verb, target, origin=origin, command=command.id)


def _stop(round_: Round, command: Command) -> None:
    resource, timeout = command.arguments
    if resource not in round_.state.resources:
        reject(round_, command, "no_such_resource")
        return
    if not timeout.isdecimal():
        reject(round_, command, "unknown")
        return
    # By the number of digits first: there are texts of digits that are too long to be read.
    if len(timeout) > len(str(LONGEST_STOP)) or int(timeout) > LONGEST_STOP:
        allowed = f"allowed is a whole number of seconds up to {LONGEST_STOP}"
        reject(round_, command, "not_allowed", problem=f"timeout cannot be '{shown(timeout, 40)}'; {allowed}")
        return
    round_.batch.emit(
        "resource.stop_queued",
        resource,
        about=f"timeout {timeout}",
        cause=f"command/{command.id}",
        correlation=f"command/{command.id}",
        timeout=int(timeout),
        command=command.id,
    )


def _begin_maintenance(round_: Round, command: Command) -> None:
    (node,) = command.arguments
    state = round_.state.node_state(node)
    if round_.state.disarm is not None:
        ignore(round_, command, "disarmed", node=node)
    elif state == "online":
        round_.batch.emit("maintenance.requested", node, cause=f"command/{command.id}", command=command.id)
    elif state == "maintenance":
        ignore(round_, command, "already_in_maintenance", node=node)
    else:
        reject(round_, command, "node_not_online")


def _end_maintenance(round_: Round, command: Command) -> None:
    (node,) = command.arguments
    state = round_.state.node_state(node)
    round_.batch.emit("maintenance.cleared", node, cause=f"command/{command.id}", command=command.id, state=state)


def _disarm(round_: Round, command: Command) -> None:
    (mode,) = command.arguments
    disarm = round_.state.disarm
    if disarm is not None:
        ignore(round_, command, "disarmed_already", state=disarm.state)
        return
    cause = f"command/{command.id}"
    round_.batch.emit("disarm.requested", "cluster", about=mode, cause=cause, mode=mode, command=command.id)
    if mode == "ignore":
        for resource in sorted(round_.state.resources):
            round_.batch.emit("resource.tracking_suspended", resource, cause=cause)


def _arm(round_: Round, command: Command) -> None:
    disarm = round_.state.disarm
    if disarm is None:
        ignore(round_, command, "not_disarmed")
        return
    cause = f"command/{command.id}"
    round_.batch.emit("arm.requested", "cluster", cause=cause, command=command.id)
    if disarm.mode == "ignore":
        _note_moves_by_hand(round_, cause)


def _note_moves_by_hand(round_: Round, cause: str) -> None:
    """While HA looked away, people may have moved resources."""
    state = round_.state
    for resource in sorted(state.resources):
        configuration, record = state.configurations.get(resource), state.resources[resource]
        if configuration is not None and configuration.node != record.node:
            round_.batch.emit(
                "resource.moved_while_disarmed",
                resource,
                cause=cause,
                previous=record.node,
                node=configuration.node,
            )


def _retry_balancing(round_: Round, command: Command) -> None:
    resource, target = command.arguments
    round_.batch.emit(
        "balance.retried",
        "balance",
        about=command.text,
        cause=f"command/{command.id}",
        resource=resource or None,
        target=target or None,
        command=command.id,
    )


def _advise_balancing(round_: Round, command: Command) -> None:
    """The balancer answers later in this very round."""
    cause = f"command/{command.id}"
    round_.batch.emit("balance.advice_requested", "balance", cause=cause, command=command.id)


def _retry(round_: Round, command: Command) -> None:
    """Lets a service begin anew: its deaths count no longer, and one in error is started again."""
    (resource,) = command.arguments
    if resource not in round_.state.resources:
        reject(round_, command, "no_such_resource")
        return
    cause = f"command/{command.id}"
    round_.batch.emit("service.retried", resource, about=command.user, cause=cause, command=command.id)
    if round_.state.resources[resource].state == "error":
        enter(round_, resource, "stopped", cause=cause)


@dataclass(frozen=True, slots=True)
class _Verb:
    """A verb: how many arguments it takes, and who serves it."""

    arguments: int
    serve: Callable[[Round, Command], None]


def _withdraw(round_: Round, command: Command) -> None:
    """The user took a request out of his stream by himself; this tells him that no round is left that had read it."""
    done(round_, command)


_VERBS: dict[str, _Verb] = {
    "withdraw": _Verb(1, _withdraw),
    "migrate": _Verb(2, _motion),
    "relocate": _Verb(2, _motion),
    "stop": _Verb(2, _stop),
    "retry": _Verb(1, _retry),
    "enable-node-maintenance": _Verb(1, _begin_maintenance),
    "disable-node-maintenance": _Verb(1, _end_maintenance),
    "disarm-ha": _Verb(1, _disarm),
    "arm-ha": _Verb(0, _arm),
    "rebalance-retry": _Verb(2, _retry_balancing),
    "rebalance-advise": _Verb(0, _advise_balancing),
    "configure": _Verb(2, configuration.configure),
    "unconfigure": _Verb(1, configuration.unconfigure),
    "change-rules": _Verb(1, configuration.change_rules),
    "change-settings": _Verb(1, configuration.change_settings),
    "add-node": _Verb(1, configuration.add_node),
    "confirm-fenced": _Verb(1, configuration.confirm_fenced),
    "remove-node": _Verb(1, configuration.remove_node),
}
