"""Turning old-style groups into rules for good, once the whole cluster is fit for rules."""

import re
from typing import Any

from haes.manager.context import Round
from haes.manager.rules_in_use import groups_of_resources
from haes.rules.groups import failback_from_groups, parse_groups, rules_from_groups
from haes.rules.parse import parse_rules, write_rules

# Rounds that a new leader waits before the first try, and between tries.
FIRST_ROUNDS = 3
RETRY_ROUNDS = 6
# What a round means to people, seconds.
NOMINAL_ROUND = 10
# The first version of the node software that understands rules.
RULES_VERSION = "9.0.0~16"

_VERSION = re.compile(r"^(\d+)\.(\d+)(?:\.|-)(\d+)(?:~(\d+))?")


class NotYet(Exception):
    """The cluster is not fit for rules yet; the arguments are a reason and its details."""

    def __init__(self, reason: str, **details: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.details = details


def try_migration(round_: Round) -> None:
    """Counts down, and when it is time tries to write rules in place of groups."""
    state = round_.state
    if not parse_groups(state.groups_text, "groups")[0]:
        return
    left = (FIRST_ROUNDS if state.groups_rounds_left is None else state.groups_rounds_left) - 1
    round_.batch.emit("groups.migration_waiting", "groups", rounds_left=left if left > 0 else RETRY_ROUNDS)
    if left > 0:
        return
    _step(round_, "start")
    try:
        _assert_fit(round_)
    except NotYet as not_yet:
        _step(round_, "aborted", reason=not_yet.reason, **not_yet.details)
        _step(round_, "failed")
        _step(round_, "retry", rounds=RETRY_ROUNDS)
        return
    _migrate(round_)
    _step(round_, "succeeded")


def _step(round_: Round, step: str, **details: Any) -> None:
    round_.batch.emit("groups.migration", "groups", about=step, step=step, **details)


def _assert_fit(round_: Round) -> None:
    state = round_.state
    if not round_.inputs.quorate:
        raise NotYet("not_quorate")
    if not state.nodes:
        raise NotYet("no_nodes")
    for node in sorted(state.nodes):
        node_state = state.nodes[node]
        _step(round_, "node_state", node=node, state=node_state)
        if node_state != "online":
            raise NotYet("node_not_online", node=node)
        agent = state.agents.get(node)
        if agent is None:
            raise NotYet("agent_unknown", node=node)
        _step(round_, "agent_state", node=node, state=agent.state, mode=agent.mode)
        idle = agent.state == "wait_for_agent_lock" and not count_active(round_, node)
        if agent.state != "active" and not idle:
            raise NotYet("agent_not_ready", node=node)
        if agent.mode != "active":
            raise NotYet("agent_mode", node=node)
        version = round_.inputs.versions.get(node)
        if not version:
            raise NotYet("version_unknown", node=node)
        _step(round_, "node_version", node=node, version=version)
        if not has_version(version, RULES_VERSION):
            raise NotYet("version_too_old", node=node, version=RULES_VERSION)


def count_active(round_: Round, node: str) -> int:
    """Returns how many resources the agent of a node has to look after."""
    idle = {"stopped", "freeze", "error", "request_start"}
    return sum(
        1
        for record in round_.state.resources.values()
        if node in {record.node, record.target} and record.state not in idle
    )


def has_version(version: str, wanted: str) -> bool:
    """Returns whether a version (`9.0.0~16`, `9.1-2`) is at least the wanted one."""
    parts, least = _VERSION.match(version), _VERSION.match(wanted)
    if parts is None or least is None:
        return False
    have, want = [int(part) for part in parts.groups()[:3]], [int(part) for part in least.groups()[:3]]
    if have != want:
        return have > want
    # A version without a revision is the finished one, later than every revision that led to it.
    return parts[4] is None or int(parts[4]) >= int(least[4] or 0)


def _migrate(round_: Round) -> None:
    state, batch = round_.state, round_.batch
    groups, _problems = parse_groups(state.groups_text, "groups")
    rules, _problems = parse_rules(state.rules_text, "rules")
    group_of = groups_of_resources(state)
    rules = rules_from_groups(rules, groups, group_of) or rules
    batch.emit("rules.changed", "rules", text=write_rules(rules))
    _step(round_, "rules_migrated")
    failback = failback_from_groups(groups, group_of)
    for resource in sorted(group_of):
        changes = {} if failback[resource] else {"failback": False}
        batch.emit("resource.configured", resource, changes=changes, unset=["group"])
    _step(round_, "resources_migrated")
    batch.emit("groups.changed", "groups", text="")
    _step(round_, "groups_deleted")
