"""A leader's round: observe, follow the configuration, serve commands, balance, let every resource take its steps.

The round decides on a working copy; what it decided are the batch's events. It touches nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from haes import settings
from haes.balancer.balance import balance, refuse
from haes.balancer.outcomes import record_report
from haes.bounds import shown_error
from haes.machines.resource import MOVING
from haes.manager import disarm, nodes, resources
from haes.manager.commands import serve_commands
from haes.manager.context import Round
from haes.manager.groups_migration import try_migration
from haes.manager.inputs import RoundInputs, Undecidable
from haes.manager.loads import build_usage, select_scheduler
from haes.manager.motion_memory import remember
from haes.manager.requests import take_over_requests
from haes.manager.rules_in_use import RulesInUse, build_rules, rules_digest, rules_key
from haes.state.batch import Batch
from haes.version import POLICY_VERSION, PROGRAM_VERSION

# What operators change that loads, rules and scheduler follow from.
_CHANGES = frozenset({"resource.configured", "resource.unconfigured", "rules.changed", "settings.changed"})


@dataclass(slots=True)
class Leader:
    """What a leader keeps between rounds: the one thing that a new leader starts again, and a cache.

    Attributes:
        streak: consecutive rounds over the imbalance threshold.
        previous_round_at: when the round before was.
        disarmed: after the last round HA was fully out of action.
        rules: a cache; it follows from the state.
        missing: what had no load in the round before -> since when, and whether that was said.
    """

    streak: int = 0
    previous_round_at: float | None = None
    disarmed: bool = False
    rules: RulesInUse | None = None
    missing: Mapping[str, tuple[float, bool]] = field(default_factory=dict)

    def take_over(self, batch: Batch, node: str) -> None:
        """Records the election and the scheduler that this leader begins with."""
        batch.emit(
            "leader.elected", "cluster", about=node, node=node, program=PROGRAM_VERSION, policy_version=POLICY_VERSION
        )
        assert batch.state is not None  # noqa: S101 - leaders decide on a working copy
        mode = settings.crs(batch.state.settings, "ha")
        batch.emit("scheduler.selected", "cluster", about=mode, mode=mode, previous=None)

    def manage(self, batch: Batch, inputs: RoundInputs) -> None:
        """Decides one round."""
        assert batch.state is not None  # noqa: S101 - leaders decide on a working copy
        round_ = Round(batch.state, batch, inputs, self.rules or RulesInUse(), streak=inputs.streak)
        round_.missed = self.missing
        round_.modes = {node: mode_of(round_, node) for node in round_.state.nodes}
        for resource, problem in inputs.undecidable.items():
            batch.emit("subject.parked", resource, about=problem, reason=problem)
        nodes_changed = inputs.online.keys() != batch.state.nodes.keys()
        nodes.observe(round_)
        if not inputs.outside and not nodes.is_operational(round_, inputs.node):
            batch.emit("manager.offline", inputs.node)
            return
        select_scheduler(round_)
        try_migration(round_)
        _follow_configuration(round_)
        build_usage(round_)
        self._use_rules(round_, nodes_changed=nodes_changed)
        _drop_unusable_requests(round_)
        take_over_requests(round_)
        served_from = len(batch.events)
        serve_commands(round_)
        if any(event.type in _CHANGES for event in batch.events[served_from:]):
            # What is decided from here on follows from what is on the record by now, and from nothing else.
            select_scheduler(round_)
            build_usage(round_)
            self._use_rules(round_, nodes_changed=False)
        self._decide(round_)
        self.streak = round_.streak
        self.missing = round_.missing
        self.previous_round_at = inputs.at

    def _use_rules(self, round_: Round, *, nodes_changed: bool) -> None:
        """Takes the rules into use when they are new, to the cluster or to this leader."""
        state = round_.state
        digest = rules_digest(state)
        # Nodes that no leader has seen yet count as a change in every round until they are seen.
        renew = state.rules_applied != digest or nodes_changed
        nodes_used = sorted(state.nodes) if renew else state.rules_nodes
        if self.rules is None or self.rules.key != rules_key(state, nodes_used):
            self.rules = build_rules(state, nodes_used)
        round_.rules = self.rules
        dropped = [[item.rule, item.option, item.code, dict(item.details)] for item in self.rules.findings]
        if state.rules_applied != digest or nodes_used != state.rules_nodes or (renew and dropped):
            round_.batch.emit(
                "rules.applied",
                "rules",
                about=f"{len(dropped)} dropped",
                digest=digest,
                nodes=nodes_used,
                dropped=dropped,
            )

    def _decide(self, round_: Round) -> None:
        self.disarmed = False
        only: set[str] | None = None
        if round_.state.disarm is not None:
            if round_.crs("ha-auto-rebalance") or round_.state.balance.advice_wanted:
                refuse(round_, "disarmed")
            only = disarm.deferred_resources(round_)
            if not only:
                disarm.progress(round_)
                self.disarmed = round_.state.disarm.state == "disarmed"
                return
        elif not round_.inputs.early or round_.state.balance.advice_wanted:
            balance(round_)
        _settle(round_, only)


def mode_of(round_: Round, node: str) -> str:
    """Returns the mode of a node's agent; one that has not reported yet counts as active."""
    agent = round_.state.agents.get(node)
    return "active" if agent is None else agent.mode


def _follow_configuration(round_: Round) -> None:
    """Begins to look after resources that are configured, ceases for those that are not; not while disarmed."""
    state = round_.state
    if state.disarm is not None:
        return
    for resource in sorted(state.configurations):
        configuration = state.configurations[resource]
        if resource in state.resources or configuration.state == "ignored" or resource in state.parked:
            continue
        # It is assumed to run, so that adding a running resource does not move it.
        first = "request_start" if configuration.state == "started" else "request_stop"
        round_.batch.emit("resource.added", resource, about=configuration.node, node=configuration.node, state=first)
    for resource in sorted(state.resources.keys() - state.parked.keys()):
        known = state.configurations.get(resource)
        if known is None or known.state == "ignored":
            round_.batch.emit("resource.removed", resource, reason="no_config" if known is None else "ignored")


def _drop_unusable_requests(round_: Round) -> None:
    """A motion or stop that waits at a resource whose state never looks at it would wait, and block, for ever."""
    for resource in sorted(round_.state.resources.keys() - round_.state.parked.keys()):
        record = round_.state.resources[resource]
        if record.request is not None and record.state not in {"started", "stopped"}:
            verb, argument, origin = record.request
            target = None if verb == "stop" else argument
            round_.batch.emit(
                "resource.request_dropped", resource, cause=origin, verb=verb, reason="unusable", target=target
            )


def _settle(round_: Round, only: set[str] | None) -> None:
    """Lets resources take steps until none changes any more, fencing nodes in between."""
    repeat = True
    while repeat:
        repeat = False
        # What is parked is left alone: nothing that is decided about it would be applied.
        for resource in sorted(round_.state.resources.keys() - round_.state.parked.keys()):
            if only is None or resource in only:
                repeat |= _step_alone(round_, resource)
        repeat |= _fence_nodes(round_)


def _step_alone(round_: Round, resource: str) -> bool:
    """Lets a resource take its step; whatever goes wrong in it is this resource's alone.

    Raises:
        Undecidable: what the resource is, or asks for, cannot be decided; the round is to be tried again without it.
    """
    try:
        return _step(round_, resource)
    except Exception as error:
        raise Undecidable(resource, shown_error(error)) from error


def _step(round_: Round, resource: str) -> bool:
    before = round_.state.resources[resource]
    state, origin, target = before.state, before.origin, before.target
    result = resources.outcome(round_, before) if state in MOVING else None
    if result is None:
        return resources.step(round_, resource)

    # Before the step, after which nothing of the motion is left on the resource's record.
    remember(round_, resource, target, origin, result)
    return resources.step(round_, resource, after=lambda: record_report(round_, resource, origin, result))


def _fence_nodes(round_: Round) -> bool:
    """Fences the nodes of resources in state fence, and starts the recovery of those that are proven to be off."""
    repeat = False
    fenced: dict[str, bool] = {}
    for resource in sorted(round_.state.resources.keys() - round_.state.parked.keys()):
        record = round_.state.resources[resource]
        if record.state != "fence":
            continue
        node = record.node
        if node not in fenced:
            fenced[node] = nodes.fence(round_, node)
        if fenced[node]:
            resources.enter(round_, resource, "recovery")
            repeat = True
    # A node whose resources were taken away by hand must not stay in state fence for ever.
    for node in sorted(round_.state.nodes):
        if node not in fenced and round_.state.node_state(node) == "fence":
            round_.batch.emit("node.stray_fence", node)
            repeat |= nodes.fence(round_, node)
    return repeat
