"""What the balancer leaves out, and why: cooldowns, pairs that failed, pairs that cannot work, flags, full targets."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from haes.balancer.bundles import StandingBundle, standing_bundles
from haes.manager.context import Round
from haes.manager.placement import affinity_nodes
from haes.scheduling.usage import Bundle


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A bundle, or one target of it, that is left out.

    Attributes:
        leader: the bundle's label.
        resource: the member that is the reason.
        target: the target left out, or None for all.
        reason: parked, flag, cooldown, sample, backoff, preflight or ceiling.
        details: until when, after how many attempts, and so on.
    """

    leader: str
    resource: str
    target: str | None
    reason: str
    details: dict[str, Any]

    def to_data(self) -> dict[str, Any]:
        """Returns the exclusion as it stands in events."""
        return {
            "leader": self.leader,
            "resource": self.resource,
            "target": self.target,
            "reason": self.reason,
            **self.details,
        }


@dataclass(slots=True)
class Candidates:
    """What may be scored, what was left out, and how many bundles stood there in the first place."""

    bundles: list[Bundle]
    exclusions: list[Exclusion]
    standing: int


def collect(round_: Round, policy: str, *, ahead: bool = False, tireless: AbstractSet[str] = frozenset()) -> Candidates:
    """Returns the bundles with the targets that they may be moved to now.

    Args:
        round_: the round.
        policy: how failures are left out.
        ahead: whether targets count that are only kept by others who may move away first.
        tireless: resources that need not rest.
    """
    result = Candidates([], [], 0)
    all_targets = tuple(sorted(round_.online))
    for bundle in standing_bundles(round_):
        result.standing += 1
        reason = _excluded_as_a_whole(round_, bundle, tireless)
        if reason is not None:
            result.exclusions.append(reason)
            continue
        targets = []
        for target in _legal_targets(round_, bundle, all_targets, ahead=ahead):
            exclusion = _excluded_target(round_, bundle, target, policy)
            if exclusion is None:
                targets.append(target)
            else:
                result.exclusions.append(exclusion)
        if targets:
            result.bundles.append(Bundle(bundle.leader, bundle.members, tuple(targets)))
    return result


def _legal_targets(round_: Round, bundle: StandingBundle, all_targets: tuple[str, ...], *, ahead: bool) -> list[str]:
    leader = bundle.leader
    compiled = round_.rules.compiled
    if leader not in compiled.node_affinity and leader not in compiled.separate:
        return [node for node in all_targets if node != bundle.node]
    _allowed, preferred = round_.rules.preferred(leader, round_.online)
    if ahead:
        return sorted(preferred - {bundle.node})
    _together, separate = affinity_nodes(round_, leader, round_.online)
    return sorted(node for node in preferred if node not in separate and node != bundle.node)


def _excluded_as_a_whole(round_: Round, bundle: StandingBundle, tireless: AbstractSet[str]) -> Exclusion | None:
    memory, now = round_.state.balance, round_.inputs.at
    # A load that was not measured is not a load of zero.
    samples = round_.loads.resource_loads if round_.state.scheduler == "dynamic" else round_.loads.limits
    for member in bundle.members:
        if member in round_.state.parked:
            return Exclusion(bundle.leader, member, None, "parked", {})
        configuration = round_.state.configurations.get(member)
        if configuration is not None and not configuration.auto_rebalance:
            return Exclusion(bundle.leader, member, None, "flag", {})
        until = memory.cooldowns.get(member)
        if until is not None and now < until and member not in tireless:
            return Exclusion(bundle.leader, member, None, "cooldown", {"until": until})
        if member not in samples:
            return Exclusion(bundle.leader, member, None, "sample", {})
    return None


def _excluded_target(round_: Round, bundle: StandingBundle, target: str, policy: str) -> Exclusion | None:
    memory, now = round_.state.balance, round_.inputs.at
    if policy != "none" and memory.node_rests(target, now):
        trouble = memory.nodes[target]
        details: dict[str, Any] = {"until": trouble.until, "why": trouble.reason}
        return Exclusion(bundle.leader, bundle.leader, target, "node", details)
    for member in bundle.members:
        failure = memory.failures.get((member, target))
        if failure is not None:
            # Somebody else's motion is left out by time under every policy.
            by_time = policy != "none" and failure.until is not None and now < failure.until
            by_series = policy == "series" and failure.first_series is not None and memory.series < failure.first_series
            if by_time or by_series:
                details = {"attempts": failure.attempts, "why": failure.reason}
                details |= {"until": failure.until} if by_time else {"first_series": failure.first_series}
                return Exclusion(bundle.leader, member, target, "backoff", details)
        answer = memory.impossible.get((member, target))
        if answer is not None and now < answer.until:
            details = {"until": answer.until, "why": ", ".join(answer.reasons)}
            return Exclusion(bundle.leader, member, target, "preflight", details)
    return None
