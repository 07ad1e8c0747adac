"""One evaluation of the balancer: settle what ended, look at the load, choose a motion or say why not."""

from typing import Any

from haes import settings
from haes.balancer import ahead, breaker, outcomes
from haes.balancer.choice import Choice, choose
from haes.balancer.memory import Motion
from haes.manager.context import Round
from haes.manager.motions import any_motion_queued_or_running, blocked_by, queue_motion
from haes.scheduling.planning.planner import Planned
from haes.scheduling.usage import Scored

# Of what was left out this much goes on record with a choice: enough to see why.
EXCLUSIONS_ON_RECORD = 20


def balance(round_: Round) -> None:
    """Evaluates the cluster's balance and issues at most one motion."""
    mode = round_.crs("ha-auto-rebalance")
    if round_.state.balance.advice_wanted:
        _give_advice(round_)
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
    _end_plan_when_over(round_)
    if not _exceeds(round_, imbalance):
        round_.streak = 0
        _end_plan(round_, "at rest")
        if policy == "series" and round_.state.balance.tried:
            outcomes.end_series(round_, "balanced")
        refuse(round_, "balanced", imbalance=imbalance)
        return
    round_.streak += 1
    # A plan under way has waited before it began.
    if round_.state.balance.plan is None and round_.streak < round_.crs("ha-auto-rebalance-hold-duration"):
        return
    streak, round_.streak = round_.streak, 0
    if breaker.is_open(round_):
        refuse(round_, "paused", until=round_.state.balance.paused_until)
        return
    choice = _choose(round_, policy, imbalance)
    if choice.bundle is None:
        if policy == "series":
            outcomes.end_series(round_, choice.reason or "")
        refuse(round_, choice.reason or "", **_why_not(choice, imbalance))
    elif mode == settings.BALANCER_ADVISES:
        best = choice.scored[0]
        if round_.state.balance.advice != (best.resource, best.target):
            _advise(round_, choice, imbalance)
    else:
        _issue(round_, policy, imbalance, streak, choice)


def _choose(round_: Round, policy: str, imbalance: float) -> Choice:
    """Chooses a motion: the next one of the plan under way, the first one of a new plan, or the best one."""
    if not _plans(round_) or not _is_unrest(round_, imbalance):
        return choose(round_, policy, imbalance)
    if round_.state.balance.plan is not None:
        following = ahead.follow(round_, policy)
        if following is not None:
            return following
        _end_plan(round_, "overtaken")
    return ahead.make(round_, policy)


def _plans(round_: Round) -> bool:
    return bool(round_.crs("ha-auto-rebalance-method") == settings.METHOD_AHEAD)


def _is_unrest(round_: Round, imbalance: float) -> bool:
    """Returns whether there is something that a plan can mend; it does not know of the spread."""
    return imbalance > round_.crs("ha-auto-rebalance-threshold") / 100 or ahead.is_over_ceiling(round_)


def _end_plan_when_over(round_: Round) -> None:
    plan = round_.state.balance.plan
    if plan is None:
        return
    if plan.is_broken:
        _end_plan(round_, "a motion did not end as planned")
    elif plan.issued >= len(plan.steps):
        _end_plan(round_, "all motions made")
    elif not _plans(round_):
        _end_plan(round_, "another method was set")


def _end_plan(round_: Round, reason: str) -> None:
    plan = round_.state.balance.plan
    if plan is not None:
        round_.batch.emit(
            "balance.plan_ended",
            "balance",
            about=f"{plan.number}, {reason}",
            number=plan.number,
            made=plan.issued,
            reason=reason,
        )


def refuse(round_: Round, reason: str, **details: Any) -> None:
    """Records why nothing is done, when the reason is another one than last time or somebody asked."""
    memory = round_.state.balance
    if memory.advice_wanted or memory.refusal is None or memory.refusal[0] != reason:
        _answer(round_, reason, **details)


def _exceeds(round_: Round, imbalance: float) -> bool:
    threshold = round_.crs("ha-auto-rebalance-threshold")
    if imbalance > threshold / 100 or (_plans(round_) and ahead.is_over_ceiling(round_)):
        return True
    spread = round_.crs("ha-auto-rebalance-max-spread")
    if spread is None:
        return False
    loads = [stats.load() for stats in round_.usage.node_stats().values()]
    return len(loads) > 1 and (max(loads) - min(loads)) * 100 > spread


def _give_advice(round_: Round) -> None:
    """Answers an operator who asks what the balancer would do right now, whatever threshold and pauses say."""
    if round_.state.scheduler not in settings.BALANCING_SCHEDULERS:
        _answer(round_, "scheduler_mode", mode=round_.state.scheduler)
        return
    moving = any_motion_queued_or_running(round_.state)
    if moving is not None:
        _answer(round_, "motion_running", resource=moving)
        return
    imbalance = round_.usage.imbalance()
    policy: str = round_.crs("ha-auto-rebalance-backoff")
    plans = _plans(round_) and _is_unrest(round_, imbalance)
    choice = ahead.make(round_, policy) if plans else choose(round_, policy, imbalance)
    if choice.bundle is None:
        _answer(round_, choice.reason or "", **_why_not(choice, imbalance))
    else:
        _advise(round_, choice, imbalance)


def _answer(round_: Round, reason: str, **details: Any) -> None:
    round_.batch.emit("balance.refused", "balance", about=reason, reason=reason, details=details)


def _why_not(choice: Choice, imbalance: float) -> dict[str, Any]:
    return {
        "imbalance": imbalance,
        "best": [_scored_data(item) for item in choice.scored[:1]],
        "excluded": _excluded(choice),
    }


def _excluded(choice: Choice) -> list[dict[str, Any]]:
    """Returns what was left out, in an order that does not tell in which order that was found out."""
    found = sorted(choice.candidates.exclusions, key=lambda item: (item.leader, item.target or "", item.resource))
    return [item.to_data() for item in found[:EXCLUSIONS_ON_RECORD]]


def _chosen(choice: Choice, imbalance: float) -> dict[str, Any]:
    """Returns a chosen motion as it stands in events."""
    assert choice.bundle is not None  # noqa: S101 - the caller has looked
    best = choice.scored[0]
    return {
        "verb": "migrate" if best.resource.startswith("vm:") else "relocate",
        "leader": best.resource,
        "members": list(choice.bundle.resources),
        "source": best.source,
        "target": best.target,
        "before": imbalance,
        "after": best.imbalance,
    }


def _about(choice: Choice) -> str:
    best = choice.scored[0]
    return f"{best.resource} {best.source} to {best.target}"


def _advise(round_: Round, choice: Choice, imbalance: float) -> None:
    round_.batch.emit("balance.advised", "balance", about=_about(choice), **_chosen(choice, imbalance))


def _issue(round_: Round, policy: str, imbalance: float, streak: int, choice: Choice) -> None:
    """Records the motion with all that speaks for and against it, and queues it."""
    memory, best = round_.state.balance, choice.scored[0]
    number = memory.motions + 1
    reference = outcomes.motion_reference(number)
    chosen = _chosen(choice, imbalance)
    samples: dict[str, Any] = {"sample": round_.loads.sample}
    if round_.loads.first_sample is not None:
        samples["first_sample"] = round_.loads.first_sample
    if choice.planned is not None:
        _record_plan(round_, choice.planned, imbalance, streak, samples)
    # What is done for a plan says so.
    plan: dict[str, Any] = {}
    if choice.step is not None and memory.plan is not None:
        plan = {"plan": memory.plan.number, "step": choice.step}
    round_.batch.emit(
        "balance.motion",
        "balance",
        about=_about(choice),
        correlation=reference,
        number=number,
        series=memory.series,
        policy=policy,
        method=round_.crs("ha-auto-rebalance-method"),
        streak=streak,
        alternatives=[_scored_data(item) for item in choice.scored[1:]],
        excluded=_excluded(choice),
        **samples,
        **plan,
        **chosen,
    )
    motion = memory.motion
    other = blocked_by(round_, best.resource, best.target)
    if other is None:
        queue_motion(round_, best.resource, chosen["verb"], best.target, origin=reference)
    elif motion is not None:
        _record_refusal(round_, motion, other)


def _record_plan(round_: Round, planned: Planned, imbalance: float, streak: int, samples: dict[str, Any]) -> None:
    """Records a plan before its first motion: every step, what it is for, and what is proved about it."""
    count = len(planned.motions)
    round_.batch.emit(
        "balance.plan",
        "balance",
        about=f"{count} motions, at least {planned.bound}",
        number=round_.state.balance.plans + 1,
        steps=[_scored_data(item) for item in planned.motions],
        before=imbalance,
        excess=planned.before.excess,
        at_rest=planned.after.at_rest(),
        bound=planned.bound,
        is_most_even=planned.is_best,
        streak=streak,
        **samples,
    )


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
