"""What the balancer remembers, as a projection of events; knows neither loads nor how a motion is chosen.

Every policy reads the same memory: an open motion with its members, failures by (resource, target), cooldowns by
resource, the series, the breaker. Nothing hangs on a bundle's leader.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

OPEN, MOVED, FAILED, DROPPED = "open", "moved", "failed", "dropped"


@dataclass(slots=True)
class Motion:
    """A motion that the balancer issued and whose end is not known for every member.

    Attributes:
        number: numbers motions from 1, over the cluster's whole life.
        series: the series it belongs to.
        policy: the back-off policy that issued it.
        verb: migrate or relocate, as asked for the leader.
        leader: first member by name; only a label.
        source: where the bundle was.
        target: where it goes.
        members: resource -> open, moved, failed or dropped.
    """

    number: int
    series: int
    policy: str
    verb: str
    leader: str
    source: str
    target: str
    members: dict[str, str]

    def open_members(self) -> list[str]:
        """Returns the members whose end is not known, by name."""
        return sorted(resource for resource, outcome in self.members.items() if outcome == OPEN)


@dataclass(slots=True)
class PlanUnderWay:
    """Motions that are to be made one after the other.

    Attributes:
        number: numbers plans from 1.
        steps: (leader, target) of each motion, in order.
        leads_to_rest: whether nothing is left to do after them, as far as was known.
        issued: how many were issued.
        is_broken: one of them did not end as planned.
    """

    number: int
    steps: list[tuple[str, str]]
    leads_to_rest: bool
    issued: int = 0
    is_broken: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """A pair of resource and target that failed.

    Attributes:
        attempts: failures since the last success.
        until: the time up to which the pair is left out (policy time), or None.
        first_series: the first series in which the pair may be tried again (policy series), or None.
        reason: what was reported.
        at: when it failed last.
    """

    attempts: int
    until: float | None
    first_series: int | None
    reason: str
    at: float = 0


@dataclass(frozen=True, slots=True)
class NodeTrouble:
    """A node that motions could not reach for a reason that holds for the whole of it.

    Attributes:
        failures: such motions since the last one that arrived.
        reason: of the last one.
        until: it is left alone up to then, None when it never was.
        pauses: how often it was left alone.
    """

    failures: int
    reason: str
    until: float | None = None
    pauses: int = 0


@dataclass(frozen=True, slots=True)
class Impossible:
    """A motion that the driver says cannot work: why, and until when that answer counts."""

    reasons: tuple[str, ...]
    until: float


@dataclass(slots=True)
class BalanceMemory:
    """Everything that the balancer must not forget.

    Attributes:
        series: number of the current attempt to restore balance, from 1.
        tried: something was tried in this series.
        motions: how many motions were ever issued.
        motion: the open motion, if any.
        plans: how many plans were ever made.
        plan: the plan that is being carried out, if any.
        failures: (resource, target) -> failure.
        cooldowns: resource -> time until which it rests; it ends when now >= until.
        impossible: (resource, target) -> what the driver said.
        nodes: node -> what keeps motions of any resource from it.
        failed_in_a_row: failed motions since the last success, whatever the pairs.
        pauses: how often the breaker opened since the last success.
        paused_failures: failed motions in a row when the breaker last opened; more of them open it again.
        paused_until: end of the breaker's pause, or None.
        refusal: why nothing was done when last looked at, as (reason, details), or None.
        advice: what was last advised, as (leader, target), or None.
        advice_wanted: an operator asked for advice and has no answer yet.
    """

    series: int = 1
    tried: bool = False
    motions: int = 0
    motion: Motion | None = None
    plans: int = 0
    plan: PlanUnderWay | None = None
    failures: dict[tuple[str, str], Failure] = field(default_factory=dict)
    cooldowns: dict[str, float] = field(default_factory=dict)
    impossible: dict[tuple[str, str], Impossible] = field(default_factory=dict)
    nodes: dict[str, NodeTrouble] = field(default_factory=dict)
    failed_in_a_row: int = 0
    pauses: int = 0
    paused_failures: int = 0
    paused_until: float | None = None
    refusal: tuple[str, Any] | None = None
    advice: tuple[str, str] | None = None
    advice_wanted: bool = False

    def copy(self) -> "BalanceMemory":
        """Returns an independent copy."""
        motion = self.motion
        return replace(
            self,
            motion=None if motion is None else replace(motion, members=dict(motion.members)),
            plan=None if self.plan is None else replace(self.plan),
            failures=dict(self.failures),
            cooldowns=dict(self.cooldowns),
            impossible=dict(self.impossible),
            nodes=dict(self.nodes),
        )

    # How each event changes the memory. Subjects are not needed: everything is in the payload.

    def apply_motion(self, payload: Mapping[str, Any]) -> None:
        """`balance.motion`: a motion was issued."""
        self.motions = payload["number"]
        self.tried = True
        self.refusal = None
        self.advice = None
        self.motion = Motion(
            number=payload["number"],
            series=payload["series"],
            policy=payload["policy"],
            verb=payload["verb"],
            leader=payload["leader"],
            source=payload["source"],
            target=payload["target"],
            members=dict.fromkeys(payload["members"], OPEN),
        )

        if self.plan is not None and payload.get("plan") == self.plan.number:
            self.plan.issued = payload["step"]

    def apply_plan(self, payload: Mapping[str, Any]) -> None:
        """`balance.plan`: motions are to follow."""
        steps = [(step["resource"], step["target"]) for step in payload["steps"]]
        self.plans = payload["number"]
        self.plan = PlanUnderWay(payload["number"], steps, payload["at_rest"])

    def apply_plan_ended(self, _payload: Mapping[str, Any]) -> None:
        """`balance.plan_ended`: no more motions of the plan follow."""
        self.plan = None

    def _break_plan(self) -> None:
        if self.plan is not None:
            self.plan.is_broken = True

    def _settle(self, resource: str, outcome: str) -> None:
        motion = self.motion
        if motion is None or resource not in motion.members:
            return
        motion.members[resource] = outcome
        if OPEN in motion.members.values():
            return
        outcomes = set(motion.members.values())
        self.motion = None
        # The breaker counts motions, not members: one that moved somebody and failed nobody is a success.
        if FAILED in outcomes:
            self.failed_in_a_row += 1
        elif MOVED in outcomes:
            self._close_breaker()

    def _close_breaker(self) -> None:
        self.failed_in_a_row = 0
        self.pauses = 0
        self.paused_failures = 0
        self.paused_until = None

    def apply_moved(self, payload: Mapping[str, Any]) -> None:
        """`balance.moved`: a member arrived; the pair's failures are forgotten, the resource rests."""
        resource, target = payload["resource"], payload["target"]
        self.failures.pop((resource, target), None)
        self.nodes.pop(target, None)
        if payload["cooldown_until"] is not None:
            self.cooldowns[resource] = payload["cooldown_until"]
        self._settle(resource, MOVED)

    def apply_failed(self, payload: Mapping[str, Any], at: float = 0) -> None:
        """`balance.failed`: a member did not arrive; the pair is left out for a while."""
        resource, target = payload["resource"], payload["target"]
        self.failures[(resource, target)] = Failure(
            attempts=payload["attempts"],
            until=payload.get("until"),
            first_series=payload.get("first_series"),
            reason=payload["reason"],
            at=at,
        )
        self.tried = True
        self._break_plan()
        self._settle(resource, FAILED)

    def apply_motion_failed(self, resource: str, payload: Mapping[str, Any], at: float) -> None:
        """`motion.failed`: somebody else's motion did not arrive; the pair is left out all the same."""
        target = payload["target"]
        self.failures[(resource, target)] = Failure(
            payload["attempts"], payload.get("until"), payload.get("first_series"), payload["reason"], at
        )
        if payload["whole_node"]:
            before = self.nodes.get(target, NodeTrouble(0, ""))
            self.nodes[target] = replace(before, failures=before.failures + 1, reason=payload["reason"])

    def apply_motion_moved(self, resource: str, payload: Mapping[str, Any]) -> None:
        """`motion.moved`: it arrived: nothing stands against the pair or the node any more."""
        self.failures.pop((resource, payload["target"]), None)
        self.nodes.pop(payload["target"], None)

    def apply_node_paused(self, node: str, payload: Mapping[str, Any]) -> None:
        """`motion.node_paused`: nothing is moved to the node for a while."""
        before = self.nodes.get(node, NodeTrouble(payload["failures"], payload["reason"]))
        self.nodes[node] = replace(before, until=payload["until"], pauses=before.pauses + 1)

    def node_rests(self, node: str, now: float) -> bool:
        """Returns whether motions to a node are paused."""
        trouble = self.nodes.get(node)
        return trouble is not None and trouble.until is not None and now < trouble.until

    def apply_dropped(self, payload: Mapping[str, Any]) -> None:
        """`balance.dropped`: a member's motion came to nothing and nobody is to blame."""
        self._break_plan()
        self._settle(payload["resource"], DROPPED)

    def apply_series(self, payload: Mapping[str, Any]) -> None:
        """`balance.series`: a series ended and the next one began."""
        self.series = payload["number"]
        self.tried = False

    def apply_motion_refused(self, _payload: Mapping[str, Any]) -> None:
        """`balance.motion_refused`: the manager did not queue the motion, so there is nothing to wait for."""
        self._break_plan()
        self.motion = None

    def apply_advice_requested(self, _payload: Mapping[str, Any]) -> None:
        """`balance.advice_requested`: an operator wants to know what the balancer would do."""
        self.advice_wanted = True

    def apply_advised(self, payload: Mapping[str, Any]) -> None:
        """`balance.advised`: what was advised, so that the same advice is not given every round."""
        self.advice = (payload["leader"], payload["target"])
        self.advice_wanted = False
        self.refusal = None

    def apply_refused(self, payload: Mapping[str, Any]) -> None:
        """`balance.refused`: why nothing is done has changed."""
        self.refusal = (payload["reason"], payload["details"])
        self.advice = None
        self.advice_wanted = False

    def apply_preflight(self, payload: Mapping[str, Any]) -> None:
        """`balance.preflight`: the driver says that a motion cannot work."""
        self.impossible[(payload["resource"], payload["target"])] = Impossible(
            tuple(payload["reasons"]), payload["until"]
        )

    def apply_paused(self, payload: Mapping[str, Any]) -> None:
        """`balance.paused`: the breaker opened."""
        self.paused_until = payload["until"]
        self.paused_failures = payload["failures"]
        self.pauses += 1

    def apply_resumed(self, _payload: Mapping[str, Any]) -> None:
        """`balance.resumed`: the pause is over."""
        self.paused_until = None

    def apply_retried(self, payload: Mapping[str, Any]) -> None:
        """`balance.retried`: an operator cleared the memory of all, one resource, or one pair."""
        resource, target = payload.get("resource"), payload.get("target")
        self.failures = {
            pair: failure for pair, failure in self.failures.items() if not _matches(pair, resource, target)
        }
        self.impossible = {
            pair: answer for pair, answer in self.impossible.items() if not _matches(pair, resource, target)
        }
        self.nodes = {
            node: trouble for node, trouble in self.nodes.items() if resource is not None or target not in {None, node}
        }
        if target is None:
            self.cooldowns = {
                name: until for name, until in self.cooldowns.items() if resource is not None and name != resource
            }
        if resource is None and target is None:
            self._close_breaker()

    def forget_resource(self, resource: str) -> None:
        """Drops what concerns a resource that no longer exists."""
        self.cooldowns.pop(resource, None)
        for pair in [pair for pair in self.failures if pair[0] == resource]:
            del self.failures[pair]
        self.forget_answers(resource=resource)

    def forget_node(self, node: str) -> None:
        """Drops what concerns a node that no longer exists."""
        self.nodes.pop(node, None)
        for pair in [pair for pair in self.failures if pair[1] == node]:
            del self.failures[pair]
        self.forget_answers(node=node)

    def forget_answers(self, *, resource: str | None = None, node: str | None = None) -> None:
        """Drops the driver's answers about a resource or a node whose configuration changed."""
        for pair in [pair for pair in self.impossible if resource == pair[0] or node == pair[1]]:
            del self.impossible[pair]


def _matches(pair: tuple[str, str], resource: str | None, target: str | None) -> bool:
    return resource in {None, pair[0]} and target in {None, pair[1]}
