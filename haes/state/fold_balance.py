"""Which events change the balancer's memory; what they do is in the memory itself."""

from collections.abc import Callable, Mapping
from typing import Any

from haes.balancer.memory import BalanceMemory
from haes.state.cluster import ClusterState

Payload = Mapping[str, Any]


def _on_memory(
    change: Callable[[BalanceMemory, Payload], None],
) -> Callable[[ClusterState, str, Payload, float], None]:
    def handler(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
        change(state.balance, payload)

    return handler


def _retried(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    state.commands.pop(payload.get("command") or 0, None)
    state.balance.apply_retried(payload)


def _advice_requested(state: ClusterState, _subject: str, payload: Payload, _at: float) -> None:
    state.commands.pop(payload["command"], None)
    state.balance.apply_advice_requested(payload)


def _failed(state: ClusterState, _subject: str, payload: Payload, at: float) -> None:
    state.balance.apply_failed(payload, at)


def _motion_failed(state: ClusterState, subject: str, payload: Payload, at: float) -> None:
    state.balance.apply_motion_failed(subject, payload, at)


def _motion_moved(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    state.balance.apply_motion_moved(subject, payload)


def _node_paused(state: ClusterState, subject: str, payload: Payload, _at: float) -> None:
    state.balance.apply_node_paused(subject, payload)


BALANCE_HANDLERS: dict[str, Callable[[ClusterState, str, Payload, float], None]] = {
    "balance.motion": _on_memory(BalanceMemory.apply_motion),
    "balance.plan": _on_memory(BalanceMemory.apply_plan),
    "balance.plan_ended": _on_memory(BalanceMemory.apply_plan_ended),
    "balance.moved": _on_memory(BalanceMemory.apply_moved),
    "balance.failed": _failed,
    "motion.failed": _motion_failed,
    "motion.moved": _motion_moved,
    "motion.node_paused": _node_paused,
    "balance.dropped": _on_memory(BalanceMemory.apply_dropped),
    "balance.series": _on_memory(BalanceMemory.apply_series),
    "balance.motion_refused": _on_memory(BalanceMemory.apply_motion_refused),
    "balance.advice_requested": _advice_requested,
    "balance.advised": _on_memory(BalanceMemory.apply_advised),
    "balance.refused": _on_memory(BalanceMemory.apply_refused),
    "balance.preflight": _on_memory(BalanceMemory.apply_preflight),
    "balance.paused": _on_memory(BalanceMemory.apply_paused),
    "balance.resumed": _on_memory(BalanceMemory.apply_resumed),
    "balance.retried": _retried,
}
