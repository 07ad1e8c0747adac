"""One evaluation of the balancer: settle what ended, look at the load, choose a motion or say why not."""

from typing import Any

from haes import settings
from haes.balancer import breaker, outcomes
from haes.balancer.exclusions import Candidates, Exclusion, collect
from haes.balancer.memory import Motion
from haes.manager.context import Round
from haes.manager.motions import any_motion_queued_or_running, blocked_by, queue_motion
from haes.scheduling.usage import Bundle, Scored, UsageProblem

# A motion that does not lower the imbalance by more than this is no improvement; it only carries load around.
LEAST_IMPROVEMENT = 1e-9
# Of the other motions, and of what was left out, this many go on record with a choice: enough to see why.
ALTERNATIVES_ON_RECORD = 5
EXCLUSIONS_ON_RECORD = 20
# Seconds for which the driver's "cannot work" counts at most: storage and networks come back unannounced.
PREFLIGHT_COUNTS = 3600
# Motions per evaluation that the driver is asked about, so that a round stays bounded.
PREFLIGHTS_PER_ROUND = 16


def balance(round_: Round) -> None:
    """Evaluates the cluster's balance and issues at most one motion."""
    mode = round_.crs("ha-auto-rebalance")
    if mode == settings.BALANCER_OFF:
        return
    if round_.state.scheduler not in settings.BALANCING_SCHEDULERS:
        refuse(round_, "scheduler_mode", mode=round_.state.scheduler)
        return
    if round_.inputs.platform_balances:
        refuse(round_, "other_balancer")
        return
    outcomes.settle_by_place(round_)
    moving = any_motion_queued_or_running(round_.state)
    if moving is not None:
        refuse(round_, "motion_running", resource=moving)
        return
    outcomes.close_open_motion(round_)
    policy: str = round_.crs("ha-auto-rebalance-backoff")
    imbalance = round_.usage.imbalance()
    if not _exceeds(round_, imbalance):
        round_.streak = 0
        if policy == "series" and round_.state.balance.tried:
            outcomes.end_series(round_, "balanced")
        refuse(round_, "balanced")
        return
    round_.streak += 1
    if round_.streak < round_.crs("ha-auto-rebalance-hold-duration"):
        return
    streak, round_.streak = round_.streak, 0
    if breaker.is_open(round_):
        refuse(round_, "paused", until=round_.state.balance.paused_until)
        return
    _choose(round_, policy, imbalance, streak, advise=mode == settings.BALANCER_ADVISES)


def refuse(round_: Round, reason: str, **details: Any) -> None:
    """Records why nothing is done, when the reason is another one than last time."""
    memory = round_.state.balance
    if memory.refusal is None or memory.refusal[0] != reason:
        round_.batch.emit("balance.refused", "balance", about=reason, reason=reason, details=details)


def _exceeds(round_: Round, imbalance: float) -> bool:
    threshold = round_.crs("ha-auto-rebalance-threshold")
    if imbalance > threshold / 100:
        return True
    spread = round_.crs("ha-auto-rebalance-max-spread")
    if spread is None:
        return False
    loads = [stats.load() for stats in round_.usage.node_stats().values()]
    return len(loads) > 1 and (max(loads) - min(loads)) * 100 > spread


def _choose(round_: Round, policy: str, imbalance: float, streak: int, *, advise: bool) -> None:
    candidates = collect(round_, policy)
    _leave_out_full_targets(round_, candidates)
    for _ in range(PREFLIGHTS_PER_ROUND):
        try:
            scored = round_.usage.best_motions(
                candidates.bundles, round_.crs("ha-auto-rebalance-method"), 1 + ALTERNATIVES_ON_RECORD
            )
        except UsageProblem as problem:
            round_.batch.emit(
                "usage.problem", "balance", task="balance", mode=round_.state.scheduler, problem=str(problem)
            )
            _give_up(round_, "loads_unknown", candidates, imbalance, [])
            return
        reason = _not_worth_it(round_, scored, candidates, imbalance)
        if reason is not None:
            _give_up(round_, reason, candidates, imbalance, scored)
            return
        best = scored[0]
        bundle = next(bundle for bundle in candidates.bundles if bundle.leader == best.resource)
        if _passes_preflight(round_, bundle, best, candidates):
            _issue(round_, policy, imbalance, streak, scored, bundle, candidates, advise=advise)
            return


def _not_worth_it(round_: Round, scored: list[Scored], candidates: Candidates, imbalance: float) -> str | None:
    if not scored:
        if candidates.exclusions:
            return "everything_excluded"
        return "no_legal_target" if candidates.standing else "nothing_to_move"
    best = scored[0].imbalance
    if imbalance - best <= LEAST_IMPROVEMENT:
        return "no_improvement"
    if imbalance and (imbalance - best) / imbalance < round_.crs("ha-auto-rebalance-margin") / 100:
        return "under_margin"
    return None


def _give_up(round_: Round, reason: str, candidates: Candidates, imbalance: float, scored: list[Scored]) -> None:
    if round_.crs("ha-auto-rebalance-backoff") == "series":
        outcomes.end_series(round_, reason)
    refuse(
        round_,
        reason,
        imbalance=imbalance,
        best=[_scored_data(item) for item in scored[:1]],
        excluded=[item.to_data() for item in candidates.exclusions[:EXCLUSIONS_ON_RECORD]],
    )


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


def _passes_preflight(round_: Round, bundle: Bundle, best: Scored, candidates: Candidates) -> bool:
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


def _issue(
    round_: Round,
    policy: str,
    imbalance: float,
    streak: int,
    scored: list[Scored],
    bundle: Bundle,
    candidates: Candidates,
    *,
    advise: bool,
) -> None:
    best = scored[0]
    verb = "migrate" if best.resource.startswith("vm:") else "relocate"
    memory = round_.state.balance
    chosen: dict[str, Any] = {
        "verb": verb,
        "leader": best.resource,
        "members": list(bundle.resources),
        "source": best.source,
        "target": best.target,
        "before": imbalance,
        "after": best.imbalance,
    }
    about = f"{best.resource} {best.source} to {best.target}"
    if advise:
        if memory.advice != (best.resource, best.target):
            round_.batch.emit("balance.advised", "balance", about=about, **chosen)
        return
    number = memory.motions + 1
    reference = outcomes.motion_reference(number)
    round_.batch.emit(
        "balance.motion",
        "balance",
        about=about,
        correlation=reference,
        number=number,
        series=memory.series,
        policy=policy,
        method=round_.crs("ha-auto-rebalance-method"),
        streak=streak,
        alternatives=[_scored_data(item) for item in scored[1:]],
        excluded=[item.to_data() for item in candidates.exclusions[:EXCLUSIONS_ON_RECORD]],
        sample=round_.loads.sample,
        **chosen,
    )
    motion = memory.motion
    other = blocked_by(round_, best.resource, best.target)
    if other is None:
        queue_motion(round_, best.resource, verb, best.target, origin=reference)
    elif motion is not None:
        _record_refusal(round_, motion, other)


def _record_refusal(round_: Round, motion: Motion, other: str) -> None:
    """The manager itself does not queue the motion; with policy series the pair counts as failed."""
    round_.batch.emit(
        "command.rejected",
        "commands",
        cause=outcomes.motion_reference(motion.number),
        id=0,
        reason="negative_affinity",
        text=f"{motion.verb} {motion.leader} {motion.target}",
        details={"resource": motion.leader, "other": other, "target": motion.target},
    )
    if motion.policy == "series":
        outcomes.record_failed(round_, motion, motion.leader, "refused by the manager")
    round_.batch.emit(
        "balance.motion_refused",
        "balance",
        cause=outcomes.motion_reference(motion.number),
        number=motion.number,
        resource=motion.leader,
        target=motion.target,
    )


def _scored_data(item: Scored) -> dict[str, Any]:
    return {"resource": item.resource, "source": item.source, "target": item.target, "after": item.imbalance}
