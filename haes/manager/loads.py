"""Which loads a round works with: the scheduler mode, its usage, and keeping that current as states change."""

from collections.abc import Mapping, Sequence

from haes.manager.context import Round
from haes.manager.placement import used_nodes
from haes.scheduling.usage import BasicUsage, DynamicUsage, NodeStats, StaticUsage, Usage, UsageProblem


def select_scheduler(round_: Round) -> None:
    """Records the scheduler mode when the leader begins to use it."""
    mode = round_.crs("ha")
    if round_.state.scheduler != mode:
        round_.batch.emit("scheduler.selected", "cluster", about=mode, mode=mode, previous=round_.state.scheduler)


def build_usage(round_: Round) -> None:
    """Builds the usage of this round: nodes that are online, and every resource where it puts load."""
    round_.use(_usage_for(round_))
    state = round_.state
    for resource in sorted(state.resources):
        add_usage(round_, resource)
    # Resources that nobody looks after put load on their node all the same.
    for resource in sorted(state.configurations.keys() - state.resources.keys()):
        configuration = state.configurations[resource]
        current, target = used_nodes(configuration.state, configuration.node, None, round_.online)
        _add(round_, resource, current, target, running=configuration.state == "started")


def _usage_for(round_: Round) -> Usage:
    state, mode = round_.state, round_.state.scheduler
    nodes = state.online_nodes()
    if mode in {"static", "dynamic"}:
        loads = round_.loads = round_.inputs.loads()
        try:
            if mode == "static":
                return StaticUsage(_of_nodes(loads.capacities, nodes, mode), loads.limits)
            for type_, subject, author, payload in loads.remarks:
                round_.batch.emit(type_, subject, by=author, **payload)
            return DynamicUsage(_of_nodes(loads.node_loads, nodes, mode), loads.resource_loads)
        except UsageProblem as problem:
            if _is_due(round_, "cluster"):
                round_.batch.emit("scheduler.fallback", "cluster", mode=mode, problem=str(problem))
    return BasicUsage(nodes)


def _is_due(round_: Round, what: str) -> bool:
    """Returns whether it is to be said now that the load of something is missing."""
    patience, now = round_.inputs.loads_patience, round_.inputs.at
    if patience is None:
        return True
    since, said = round_.missing.get(what) or round_.missed.get(what) or (now, False)
    due = not said and now - since >= patience
    round_.missing[what] = (since, said or due)
    return due


def _of_nodes(known: Mapping[str, NodeStats], nodes: Sequence[str], mode: str) -> dict[str, NodeStats]:
    missing = [node for node in nodes if node not in known]
    if missing:
        raise UsageProblem(f"did not get {mode} node usage information for '{missing[0]}'")
    return {node: known[node] for node in nodes}


def add_usage(round_: Round, resource: str) -> None:
    """Adds the load of a resource that is looked after, according to its record."""
    record = round_.state.resources[resource]
    current, target = used_nodes(record.state, record.node, record.target, round_.online)
    # A started resource runs once its agent has said so; in other states it runs where it still puts load.
    running = record.running if record.state == "started" else current is not None
    _add(round_, resource, current, target, running=running)


def _add(round_: Round, resource: str, current: str | None, target: str | None, *, running: bool) -> None:
    if current is None and target is None:
        return
    problem = round_.usage.add(resource, current, target, running)
    if problem is not None and _is_due(round_, resource):
        round_.batch.emit(
            "usage.problem", resource, task="add", mode=round_.state.scheduler, problem=problem, resource=resource
        )


def update_usage(round_: Round, resource: str) -> None:
    """Moves the load of a resource to where its record now says."""
    round_.usage.remove(resource)
    add_usage(round_, resource)
