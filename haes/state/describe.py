"""A state as plain data in a fixed order, for comparing two states and for people; changes nothing."""

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haes.state.cluster import ClusterState

PLAIN = (
    "n",
    "at",
    "epoch",
    "name",
    "leader",
    "program",
    "policy_version",
    "scheduler",
    "rules_text",
    "groups_text",
    "rules_applied",
    "rules_nodes",
    "groups_rounds_left",
    "command_count",
)


def describe(state: "ClusterState") -> dict[str, Any]:
    """Returns every part of a state as JSON-like data, names sorted."""
    data: dict[str, Any] = {name: getattr(state, name) for name in PLAIN}
    data["members"] = sorted(state.members)
    data["nodes"] = dict(sorted(state.nodes.items()))
    data["present"] = sorted(state.present)
    data["last_online"] = dict(sorted(state.last_online.items()))
    data["maintenance"] = sorted(state.maintenance)
    data["fence_confirmed"] = sorted(state.fence_confirmed)
    data["accepted_log"] = state.accepted_log
    data["lost_events"] = state.lost_events
    data["disarm"] = None if state.disarm is None else asdict(state.disarm)
    data["settings"] = {section: dict(sorted(values.items())) for section, values in sorted(state.settings.items())}
    data["configurations"] = {name: _shallow(item) for name, item in sorted(state.configurations.items())}
    data["resources"] = {name: _shallow(item) for name, item in sorted(state.resources.items())}
    data["leftovers"] = {name: sorted(nodes) for name, nodes in sorted(state.leftovers.items())}
    data["agents"] = {name: asdict(item) for name, item in sorted(state.agents.items())}
    data["managers"] = dict(sorted(state.managers.items()))
    data["announced"] = {name: dict(sorted(types.items())) for name, types in sorted(state.announced.items())}
    data["commands"] = [asdict(state.commands[number]) for number in sorted(state.commands)]
    data["requests"] = dict(sorted(state.requests.items()))
    if state.request_keys:
        data["request_keys"] = dict(sorted(state.request_keys.items()))
    data["balance"] = describe_balance(state)
    data["services"] = {name: asdict(item) for name, item in sorted(state.services.items())}
    data["archived"] = dict(sorted(state.archived.items()))
    data["versions"] = dict(sorted(state.versions.items()))
    data["parked"] = {name: asdict(item) for name, item in sorted(state.parked.items())}
    return data


def describe_balance(state: "ClusterState") -> dict[str, Any]:
    """Returns the balancer's memory as data: pairs become `{"resource", "target", ...}` in lists, sorted."""
    memory = state.balance
    plans: dict[str, Any] = {}
    # Clusters that never planned look as they always did.
    if memory.plans:
        plans = {"plans": memory.plans, "plan": None if memory.plan is None else asdict(memory.plan)}
    return {
        **plans,
        "series": memory.series,
        "tried": memory.tried,
        "motions": memory.motions,
        "motion": None if memory.motion is None else asdict(memory.motion),
        "failures": [
            {"resource": pair[0], "target": pair[1], **asdict(failure)}
            for pair, failure in sorted(memory.failures.items())
        ],
        "cooldowns": dict(sorted(memory.cooldowns.items())),
        "nodes": {node: asdict(trouble) for node, trouble in sorted(memory.nodes.items())},
        "impossible": [
            {"resource": pair[0], "target": pair[1], "reasons": list(answer.reasons), "until": answer.until}
            for pair, answer in sorted(memory.impossible.items())
        ],
        "failed_in_a_row": memory.failed_in_a_row,
        "pauses": memory.pauses,
        "paused_failures": memory.paused_failures,
        "paused_until": memory.paused_until,
        "refusal": None if memory.refusal is None else list(memory.refusal),
        "advice_wanted": memory.advice_wanted,
        "advice": None if memory.advice is None else list(memory.advice),
    }


def _shallow(item: Any) -> dict[str, Any]:
    return {part.name: getattr(item, part.name) for part in fields(item)}
