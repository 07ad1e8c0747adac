"""What operators ask for, looked at once a round in the order in which it came."""

from collections.abc import Callable

from haes.manager.context import Round
from haes.manager.motions import blocked_by, queue_motion
from haes.state.records import Command


def serve_commands(round_: Round) -> None:
    """Accepts, rejects or ignores every command that waits."""
    for number in sorted(round_.state.commands):
        command = round_.state.commands[number]
        serve = _VERBS.get(command.verb)
        if serve is None:
            _reject(round_, command, "unknown")
        else:
            serve(round_, command)


def _answer(round_: Round, command: Command, kind: str, reason: str, details: dict[str, str]) -> None:
    round_.batch.emit(
        f"command.{kind}",
        "commands",
        about=reason,
        cause=f"command/{command.id}",
        id=command.id,
        reason=reason,
        text=command.text,
        details=details,
    )


def _reject(round_: Round, command: Command, reason: str, **details: str) -> None:
    _answer(round_, command, "rejected", reason, details)


def _ignore(round_: Round, command: Command, reason: str, **details: str) -> None:
    _answer(round_, command, "ignored", reason, details)


def _motion(round_: Round, command: Command) -> None:
    resource, target = command.arguments
    record = round_.state.resources.get(resource)
    if record is None:
        _reject(round_, command, "no_such_resource")
    elif round_.state.node_state(target) != "online":
        _reject(round_, command, "node_not_online")
    elif record.node == target:
        _ignore(round_, command, "already_there")
    else:
        other = blocked_by(round_, resource, target)
        if other is not None:
            _reject(round_, command, "negative_affinity", resource=resource, other=other, target=target)
            return
        origin = f"command/{command.id}"
        queue_motion(round_, resource, command.verb, target, origin=origin, command=command.id)


def _stop(round_: Round, command: Command) -> None:
    resource, timeout = command.arguments
    if resource not in round_.state.resources:
        _reject(round_, command, "no_such_resource")
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
        _ignore(round_, command, "disarmed", node=node)
    elif state == "online":
        round_.batch.emit("maintenance.requested", node, cause=f"command/{command.id}", command=command.id)
    elif state == "maintenance":
        _ignore(round_, command, "already_in_maintenance", node=node)
    else:
        _reject(round_, command, "node_not_online")


def _end_maintenance(round_: Round, command: Command) -> None:
    (node,) = command.arguments
    state = round_.state.node_state(node)
    round_.batch.emit("maintenance.cleared", node, cause=f"command/{command.id}", command=command.id, state=state)


def _disarm(round_: Round, command: Command) -> None:
    (mode,) = command.arguments
    disarm = round_.state.disarm
    if disarm is not None:
        _ignore(round_, command, "disarmed_already", state=disarm.state)
        return
    cause = f"command/{command.id}"
    round_.batch.emit("disarm.requested", "cluster", about=mode, cause=cause, mode=mode, command=command.id)
    if mode == "ignore":
        for resource in sorted(round_.state.resources):
            round_.batch.emit("resource.tracking_suspended", resource, cause=cause)


def _arm(round_: Round, command: Command) -> None:
    disarm = round_.state.disarm
    if disarm is None:
        _ignore(round_, command, "not_disarmed")
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


_VERBS: dict[str, Callable[[Round, Command], None]] = {
    "migrate": _motion,
    "relocate": _motion,
    "stop": _stop,
    "enable-node-maintenance": _begin_maintenance,
    "disable-node-maintenance": _end_maintenance,
    "disarm-ha": _disarm,
    "arm-ha": _arm,
    "rebalance-retry": _retry_balancing,
    "rebalance-advise": _advise_balancing,
}
