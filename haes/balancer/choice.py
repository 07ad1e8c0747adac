"""The choice of a motion: the best one that is worth it and that the driver thinks possible, or why there is none."""

from dataclasses import dataclass, field

from haes import settings
from haes.balancer.exclusions import Candidates, Exclusion, collect
from haes.manager.context import Round
from haes.scheduling.planning.planner import Planned
from haes.scheduling.usage import Bundle, Scored, UsageProblem

# A motion that does not lower the imbalance by more than this is no improvement; it only carries load around.
LEAST_IMPROVEMENT = 1e-9
# Of the other motions this many go on record with a choice: enough to see why.
ALTERNATIVES_ON_RECORD = 5
# Seconds for which the driver's "cannot work" counts at most: storage and networks come back unannounced.
PREFLIGHT_COUNTS = 3600
# Motions per evaluation that the driver is asked about, so that a round stays bounded.
PREFLIGHTS_PER_ROUND = 16


@dataclass(slots=True)
class Choice:
    """What came of looking for a motion.

    Attributes:
        reason: why there is none, or None when there is one.
        bundle: what would move; set when there is one.
        scored: the best motions, best first; the first is the chosen one.
        candidates: what was scored, and what was left out.
        planned: the plan that begins with the motion, when one was made for it.
        step: which step of a plan the motion is, from 1.
    """

    candidates: Candidates
    reason: str | None = None
    bundle: Bundle | None = None
    scored: list[Scored] = field(default_factory=list)
    planned: Planned | None = None
    step: int | None = None


def choose(round_: Round, policy: str, imbalance: float) -> Choice:
    """Looks for the best motion now; asks the driver about it, and for the next best one if it cannot work."""
    candidates = collect(round_, policy)
    _leave_out_full_targets(round_, candidates)
    for _ in range(PREFLIGHTS_PER_ROUND):
        try:
            scored = round_.usage.best_motions(candidates.bundles, _method(round_), 1 + ALTERNATIVES_ON_RECORD)
        except UsageProblem as problem:
            round_.batch.emit(
                "usage.problem", "balance", task="balance", mode=round_.state.scheduler, problem=str(problem)
            )
            return Choice(candidates, "loads_unknown")
        reason = _not_worth_it(round_, scored, candidates, imbalance)
        if reason is not None:
            return Choice(candidates, reason, scored=scored)
        best = scored[0]
        bundle = next(bundle for bundle in candidates.bundles if bundle.leader == best.resource)
        if passes_preflight(round_, bundle, best, candidates):
            return Choice(candidates, None, bundle, scored)
    return Choice(candidates, "preflight_undecided")


def _method(round_: Round) -> str:
    """Returns how single motions are scored; where plans are wanted, as they would be without them."""
    method: str = round_.crs("ha-auto-rebalance-method")
    return "bruteforce" if method == settings.METHOD_AHEAD else method


def no_candidates(candidates: Candidates) -> str:
    """Returns why there is nothing that could move."""
    if candidates.exclusions:
        return "everything_excluded"
    return "no_legal_target" if candidates.standing else "nothing_to_move"


def _not_worth_it(round_: Round, scored: list[Scored], candidates: Candidates, imbalance: float) -> str | None:
    if not scored:
        return no_candidates(candidates)
    best = scored[0].imbalance
    if imbalance - best <= LEAST_IMPROVEMENT:
        return "no_improvement"
    if imbalance and (imbalance - best) / imbalance < round_.crs("ha-auto-rebalance-margin") / 100:
        return "under_margin"
    return None


def _leave_out_full_targets(round_: Round, candidates: Candidates) -> None:
    ceiling = round_.crs("ha-auto-rebalance-max-target-load")
    if ceiling is None:
        return
    stats = round_.usage.node_stats()
    kept = []
    for bundle in candidates.bundles:
        cpu, mem = round_.usage.bundle_load(bundle.resources)
        targets = []
        for target in bundle.targets:
            node = stats[target]
            full = max((node.cpu + cpu) / node.maxcpu, (node.mem + mem) / node.maxmem) * 100
            if full > ceiling:
                details = {"percent": round(full, 1)}
                candidates.exclusions.append(Exclusion(bundle.leader, bundle.leader, target, "ceiling", details))
            else:
                targets.append(target)
        if targets:
            kept.append(Bundle(bundle.leader, bundle.resources, tuple(targets)))
    candidates.bundles = kept


def passes_preflight(round_: Round, bundle: Bundle, best: Scored, candidates: Candidates) -> bool:
    """Asks the driver about every member; a "no" goes on record and takes the target out of this choice."""
    for member in bundle.resources:
        reasons = list(round_.inputs.preflight(member, best.target))
        if not reasons:
            continue
        until = round_.inputs.at + PREFLIGHT_COUNTS
        round_.batch.emit(
            "balance.preflight",
            "balance",
            about=f"{member} to {best.target}: {reasons[0]}",
            resource=member,
            target=best.target,
            reasons=reasons,
            until=until,
        )
        details = {"until": until, "why": ", ".join(reasons)}
        candidates.exclusions.append(Exclusion(bundle.leader, member, best.target, "preflight", details))
        left = tuple(target for target in bundle.targets if target != best.target)
        others = [item for item in candidates.bundles if item is not bundle]
        kept = [Bundle(bundle.leader, bundle.resources, left)] if left else []
        candidates.bundles = sorted([*others, *kept], key=lambda item: item.leader)
        return False
    return True
