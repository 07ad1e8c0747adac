"""Commands that change what is configured: resources, rules, settings, nodes. What is wrong is refused with the reason.

The same checks as for files apply here, at the leader, because anybody with an operator's rights can write a request.
"""

from typing import Any

from events.errors import UserError
from haes import settings
from haes.bounds import read_json
from haes.configuration.resource import check_changes
from haes.manager.answers import done, ignore, reject
from haes.manager.context import Round
from haes.rules.parse import parse_rules
from haes.rules.report import doubts
from haes.rules.values import is_node
from haes.state.records import Command


def configure(round_: Round, command: Command) -> None:
    """`configure RESOURCE JSON`: adds a resource, or changes one that exists."""
    resource, text = command.arguments
    state = round_.state
    known = state.configurations.get(resource)
    before = None if known is None else {"service": known.service, "limits": known.limits}
    try:
        changes = check_changes(resource, _object(text), state.members, resource, before)
    except UserError as error:
        reject(round_, command, "not_allowed", problem=str(error))
        return
    if known is not None and changes.get("node", known.node) != known.node:
        reject(round_, command, "not_allowed", problem=f"{resource}: 'node' changes by migrate or relocate")
        return
    places = _may_still_run(round_, resource)
    if known is None and places:
        nodes = ", ".join(places)
        problem = f"{resource} may still run on {nodes}; wait until it has stopped there, or confirm that it is fenced"
        reject(round_, command, "not_allowed", problem=problem)
        return
    cause = f"command/{command.id}"
    _unpark(round_, resource, cause)
    round_.batch.emit("resource.configured", resource, about=command.verb, cause=cause, changes=changes)
    done(round_, command)


def _may_still_run(round_: Round, resource: str) -> list[str]:
    """Returns where a resource that is not configured may run all the same: there it must not be known anew."""
    record = round_.state.resources.get(resource)
    return sorted(round_.state.leftovers.get(resource, frozenset()) | (set() if record is None else {record.node}))


def _unpark(round_: Round, resource: str, cause: str) -> None:
    """Lets a parked resource go on: who configures it anew mends it, unless it takes a newer program to understand."""
    parked = round_.state.parked.get(resource)
    if parked is not None and not parked.newer:
        about = f"event {parked.n} skipped"
        round_.batch.emit("subject.unparked", resource, about=about, cause=cause, n=parked.n, reason=parked.reason)


def unconfigure(round_: Round, command: Command) -> None:
    """`unconfigure RESOURCE`: takes a resource out of the cluster."""
    (resource,) = command.arguments
    if resource not in round_.state.configurations:
        reject(round_, command, "no_such_resource")
        return
    cause = f"command/{command.id}"
    _unpark(round_, resource, cause)
    round_.batch.emit("resource.unconfigured", resource, cause=cause)
    done(round_, command)


def change_rules(round_: Round, command: Command) -> None:
    """`change-rules TEXT`: replaces the affinity rules as a whole."""
    (text,) = command.arguments
    nodes = sorted(round_.state.members)
    rules, problems = parse_rules(text, "rules")
    problems += doubts(rules, "rules", nodes)
    if problems:
        reject(round_, command, "not_allowed", problem=str(problems[0]))
        return
    round_.batch.emit("rules.changed", "rules", cause=f"command/{command.id}", text=text)
    done(round_, command)


def change_settings(round_: Round, command: Command) -> None:
    """`change-settings JSON`: sets values, `{"crs": {"ha": "dynamic"}}`; null takes one back to its default."""
    (text,) = command.arguments
    state = round_.state
    try:
        merged = settings.merge(state.settings, _object(text), "settings")
    except UserError as error:
        reject(round_, command, "not_allowed", problem=str(error))
        return
    round_.batch.emit("settings.changed", "settings", cause=f"command/{command.id}", settings=merged)
    done(round_, command)


def add_node(round_: Round, command: Command) -> None:
    """`add-node NODE`."""
    (node,) = command.arguments
    if node in round_.state.members:
        ignore(round_, command, "node_known", node=node)
    elif not is_node(node):
        reject(round_, command, "not_allowed", problem=f"'{node}' is no name of a node")
    else:
        round_.batch.emit("node.added", node, cause=f"command/{command.id}")
        done(round_, command)


def remove_node(round_: Round, command: Command) -> None:
    """`remove-node NODE`: only one that is away and that nothing is configured on."""
    (node,) = command.arguments
    state = round_.state
    if node not in state.members:
        reject(round_, command, "not_allowed", problem=f"there is no node '{node}'")
        return
    used = sorted(name for name, item in state.configurations.items() if item.node == node)
    if used:
        reject(round_, command, "not_allowed", problem=f"node '{node}' still has {used[0]}")
    elif round_.inputs.online.get(node, False):
        reject(round_, command, "not_allowed", problem=f"node '{node}' is online; stop its agent first")
    else:
        round_.batch.emit("node.removed", node, cause=f"command/{command.id}")
        done(round_, command)


def confirm_fenced(round_: Round, command: Command) -> None:
    """`confirm-fenced NODE`: an operator has made sure that the node runs nothing."""
    (node,) = command.arguments
    if node not in round_.state.members:
        reject(round_, command, "not_allowed", problem=f"there is no node '{node}'")
    elif round_.inputs.online.get(node, False):
        reject(round_, command, "not_allowed", problem=f"node '{node}' is online")
    else:
        round_.batch.emit("node.fence_confirmed", node, cause=f"command/{command.id}", command=command.id)


def _object(text: str) -> dict[str, Any]:
    try:
        data = read_json(text)
    except ValueError as error:
        raise UserError(f"'{text}' is no JSON ({error})") from error
    if not isinstance(data, dict):
        raise UserError(f"'{text}' is no JSON object")
    return data
