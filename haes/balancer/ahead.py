"""Motions by a plan: made for the whole cluster, followed step by step, given up when anything goes another way."""

from haes.balancer.choice import PREFLIGHTS_PER_ROUND, Choice, no_candidates, passes_preflight
from haes.balancer.exclusions import Candidates, collect
from haes.manager.context import Round
from haes.scheduling.motions import Scored
from haes.scheduling.plan import Movable
from haes.scheduling.planning.building import problem_of
from haes.scheduling.planning.planner import plan
from haes.scheduling.planning.problem import Motion, Problem, Standing
from haes.scheduling.usage import Bundle, UsageProblem

PERCENT = 100.0
# Work that proofs may take in a round, a fraction of a second of it: whoever leads must stay able to say so.
CELLS_IN_A_ROUND = 20_000_000


def is_over_ceiling(round_: Round) -> bool:
    """Returns whether a node uses more than any motion may bring one to."""
    ceiling = round_.crs("ha-auto-rebalance-max-target-load")
    return ceiling is not None and any(
        max(node.cpu / node.maxcpu, node.mem / node.maxmem) * PERCENT > ceiling
        for node in round_.usage.node_stats().values()
    )


def make(round_: Round, policy: str) -> Choice:
    """Makes a plan and returns its first motion; the driver is asked about every motion before."""
    candidates = collect(round_, policy, ahead=True)
    for _ in range(PREFLIGHTS_PER_ROUND):
        if not candidates.bundles:
            return Choice(candidates, no_candidates(candidates))
        try:
            problem = _problem(round_, candidates)
        except UsageProblem as unknown:
            round_.batch.emit(
                "usage.problem", "balance", task="balance", mode=round_.state.scheduler, problem=str(unknown)
            )
            return Choice(candidates, "loads_unknown")
        margin = round_.crs("ha-auto-rebalance-margin") / PERCENT
        planned = plan(problem, margin=margin, cells=CELLS_IN_A_ROUND)
        if not planned.motions:
            return Choice(candidates, "no_improvement")
        bundles = {bundle.leader: bundle for bundle in candidates.bundles}
        if all(passes_preflight(round_, bundles[step.resource], step, candidates) for step in planned.motions):
            first = planned.motions[0]
            return Choice(candidates, None, bundles[first.resource], [first], planned, 1)
    return Choice(candidates, "preflight_undecided")


def follow(round_: Round, policy: str) -> Choice | None:
    """Returns the next motion of the plan under way, None when the plan no longer fits the cluster."""
    memory = round_.state.balance
    under_way = memory.plan
    if under_way is None or under_way.issued >= len(under_way.steps):
        return None
    moved = {leader for leader, _ in under_way.steps[: under_way.issued]}
    candidates = collect(round_, policy, ahead=True, tireless=moved)
    bundles = {bundle.leader: bundle for bundle in candidates.bundles}
    try:
        problem = _problem(round_, candidates)
    except UsageProblem:
        return None
    standing = Standing(problem)
    before = standing.unrest()
    leader, target = under_way.steps[under_way.issued]
    if leader not in bundles:
        return None
    source, first = problem.nodes.names[standing.place[problem.by_name[leader]]], 0.0
    for number, (unit, node) in enumerate(under_way.steps[under_way.issued :]):
        if unit not in problem.by_name or node not in problem.nodes.number_of:
            return None
        motion = Motion(problem.by_name[unit], problem.nodes.number_of[node])
        if not standing.admits(motion):
            return None
        standing.move(motion)
        if number == 0:
            first = standing.imbalance()
    after = standing.unrest()
    if not after < before or (under_way.leads_to_rest and not after.at_rest()):
        return None
    scored = Scored(leader, source, target, first)
    if not passes_preflight(round_, bundles[leader], scored, candidates):
        return None
    return Choice(candidates, None, bundles[leader], [scored], None, under_way.issued + 1)


def _problem(round_: Round, candidates: Candidates) -> Problem:
    """Returns what a plan must solve: the bundles that may move, and everything else where it is."""
    resources = round_.state.resources
    ceiling = round_.crs("ha-auto-rebalance-max-target-load")
    movables = [_movable(round_, bundle) for bundle in candidates.bundles]
    return problem_of(
        round_.usage.node_stats(),
        movables,
        {name: record.node for name, record in resources.items()},
        threshold=round_.crs("ha-auto-rebalance-threshold") / PERCENT,
        ceiling=None if ceiling is None else ceiling / PERCENT,
    )


def _movable(round_: Round, bundle: Bundle) -> Movable:
    cpu, mem = round_.usage.bundle_load(bundle.resources)
    separate = round_.rules.compiled.separate
    apart = frozenset[str]().union(*(separate.get(member, ()) for member in bundle.resources))
    node = round_.state.resources[bundle.leader].node
    targets = None if len(bundle.targets) == len(round_.online) - 1 else frozenset(bundle.targets)
    return Movable(bundle.resources, node, cpu, mem, targets, apart)
