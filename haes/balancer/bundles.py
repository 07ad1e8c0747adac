"""What can move as one: bundles of resources kept together by rules, all running, all on one node, none moving."""

from dataclasses import dataclass

from haes.machines.resource import MOVING
from haes.manager.context import Round


@dataclass(frozen=True, slots=True)
class StandingBundle:
    """Resources that move together; the leader, first by name, is only a label."""

    leader: str
    members: tuple[str, ...]
    node: str


def standing_bundles(round_: Round) -> list[StandingBundle]:
    """Returns every bundle that could be moved now, by leader."""
    resources = round_.state.resources
    together = round_.rules.compiled.together
    bundles: dict[str, StandingBundle] = {}
    for resource in sorted(resources):
        record = resources[resource]
        if record.state != "started":
            continue
        others = together.get(resource)
        if not others:
            bundles[resource] = StandingBundle(resource, (resource,), record.node)
            continue
        known = [other for other in others if other in resources]
        if any(resources[other].state in MOVING for other in known):
            continue
        running = [other for other in known if resources[other].state == "started"]
        if any(resources[other].node != record.node for other in running):
            continue
        members = tuple(sorted([resource, *running]))
        bundles[members[0]] = StandingBundle(members[0], members, record.node)
    return [bundles[leader] for leader in sorted(bundles)]
