"""Where a resource should run: rules, what others in affinity do, failed nodes, and the scheduler's scores."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Literal

from haes.manager.context import Round
from haes.manager.motion_memory import has_memory, targets
from haes.state.cluster import ClusterState
from haes.state.records import ResourceRecord

# none: stay where it is if possible; best-score: the best node; try-next: the best node not yet tried.
Preference = Literal["none", "best-score", "try-next"]

_ON_NODE = frozenset({"started", "request_stop", "fence", "freeze", "error", "recovery", "migrate", "relocate"})
_TO_TARGET = frozenset({"migrate", "relocate", "request_start_balance"})


def used_nodes(
    state: str, node: str | None, target: str | None, online: AbstractSet[str]
) -> tuple[str | None, str | None]:
    """Returns the online nodes on which a resource puts load now and soon, None where there is none."""
    current = node if state in _ON_NODE and node in online else None
    soon = target if state in _TO_TARGET and target is not None and target in online else None
    return current, soon


def affinity_nodes(round_: Round, resource: str, online: AbstractSet[str]) -> tuple[dict[str, int], set[str]]:
    """Returns where others are: node -> number of resources to be kept together with, and nodes to keep away from."""
    compiled, resources = round_.rules.compiled, round_.state.resources
    together: dict[str, int] = {}
    separate: set[str] = set()
    for other in sorted(compiled.together.get(resource, ())):
        record = resources.get(other)
        if record is None:
            continue
        current, soon = used_nodes(record.state, record.node, record.target, online)
        # Only where a moving resource goes counts, so that one that has arrived is not pulled back.
        node = soon if soon is not None else current
        if node is not None:
            together[node] = together.get(node, 0) + 1
    for other in compiled.separate.get(resource, ()):
        record = resources.get(other)
        if record is not None:
            separate.update(
                node for node in used_nodes(record.state, record.node, record.target, online) if node is not None
            )
    return together, separate


def select_node(round_: Round, resource: str, preference: Preference) -> str | None:
    """Returns the node on which a resource should run, or None when there is none."""
    record = round_.state.resources[resource]
    current = record.node
    online: AbstractSet[str] = round_.online
    compiled = round_.rules.compiled
    bound = resource in compiled.together or resource in compiled.separate
    allowed, preferred = round_.rules.preferred(resource, online)
    if not preferred:
        return None
    failed = _failed_in_series(round_, resource, record)
    if preference != "try-next" and preferred - failed:
        preferred = preferred - failed
    together: dict[str, int] = {}
    separate: set[str] = set()
    if bound:
        together, separate = affinity_nodes(round_, resource, online)
    remembers, must = has_memory(round_), preference != "none"
    if remembers and not together:
        bundle = {resource, *compiled.together.get(resource, ())}
        preferred = targets(round_, bundle, preferred - separate, allowed - separate, must=must)
    # Staying put avoids motions that nobody asked for.
    if (
        preference == "none"
        and current in allowed
        and (current in together or current not in separate)
        and (failed or not preferred or not round_.rules.fails_back(round_.state, resource))
    ):
        return current
    if not bound and preference == "none":
        fallback = record.maintenance_node
        if fallback is not None and fallback in preferred:
            return fallback
        if current in preferred:
            return current
    nodes = set(preferred)
    if preference == "try-next":
        nodes.difference_update(record.failed_nodes or ())
    nodes -= separate
    keep_together(together, nodes)
    if remembers and together:
        nodes = set(targets(round_, {resource}, nodes, nodes, must=must))
    return _choose(round_, resource, record, nodes, preference)


def _failed_in_series(round_: Round, resource: str, record: ResourceRecord) -> AbstractSet[str]:
    """Returns the nodes on which a service died too often in its present series: it does not go back there."""
    memory = round_.state.services.get(resource)
    return frozenset(record.failed_nodes or ()) if memory is not None and memory.series else frozenset()


def keep_together(together: Mapping[str, int], nodes: set[str]) -> None:
    """Narrows nodes to the one where most of the resources to be kept together with are, if there is one."""
    usable = {node: count for node, count in together.items() if node in nodes}
    if usable:
        majority = min(usable, key=lambda node: (-usable[node], node))
        nodes.intersection_update({majority})


def _choose(
    round_: Round, resource: str, record: ResourceRecord, nodes: set[str], preference: Preference
) -> str | None:
    fallback = record.maintenance_node
    if fallback is not None and fallback in nodes:
        return fallback
    current = record.node
    if preference == "none" and current in nodes:
        return current
    if not nodes:
        return None
    scores = round_.start_scores(resource)
    ranked = sorted(nodes, key=lambda node: (scores.get(node, 0.0), node))
    if preference == "try-next" and current in ranked[:-1]:
        return ranked[ranked.index(current) + 1]
    return ranked[0]


def describe_place(state: ClusterState, resource: str) -> str:
    """Returns a short phrase on where a resource is, for people who read the raw stream."""
    record = state.resources[resource]
    return f"on {record.node}" if record.target is None else f"{record.node} to {record.target}"
