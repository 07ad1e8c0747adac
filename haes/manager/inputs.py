"""What a leader's round needs to know from outside: time, identity, measurements, leases. The core has nothing else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from haes.scheduling.stats import NodeStats, ResourceStats

# Seconds that a node must be gone before its resources are taken from it, unless a cluster says otherwise.
FENCE_DELAY = 60


class Undecidable(Exception):
    """A round cannot be decided because of one resource; it can without it.

    Attributes:
        resource: the resource.
        problem: why, in a line.
    """

    def __init__(self, resource: str, problem: str) -> None:
        super().__init__(f"{resource}: {problem}")
        self.resource, self.problem = resource, problem


class Claim(Enum):
    """The answer to a claim for a cluster-wide lock."""

    NEW = "new"  # it was free or had run out, and is the claimant's now
    KEPT = "kept"  # the claimant had it already
    REFUSED = "refused"  # somebody else has it


@dataclass(frozen=True, slots=True)
class Loads:
    """What was measured: capacities and loads, for the scheduler modes that want them.

    Attributes:
        capacities: node -> capacity alone (cpu and mem are 0), for mode static.
        limits: resource -> what it may use at most, for mode static.
        node_loads: node -> capacity and present load, for mode dynamic.
        resource_loads: resource -> limits and present load, for mode dynamic.
        remarks: (event type, subject, author, payload) of things noticed while measuring loads for mode dynamic.
        sample: name of the last sample in the telemetry stream that counts, or None.
        first_sample: name of the first one.
    """

    capacities: Mapping[str, NodeStats] = field(default_factory=dict)
    limits: Mapping[str, ResourceStats] = field(default_factory=dict)
    node_loads: Mapping[str, NodeStats] = field(default_factory=dict)
    resource_loads: Mapping[str, ResourceStats] = field(default_factory=dict)
    remarks: Sequence[tuple[str, str, str, Mapping[str, Any]]] = ()
    sample: str | None = None
    first_sample: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What an operator wrote into his own stream and the leader has not yet taken over.

    Attributes:
        user: whose stream it was; the server vouches for the name.
        id: of the entry in that stream.
        verb: what is asked for.
        arguments: what the verb is about, as written.
        problem: why it cannot be taken over as it was written; verb and arguments say nothing then.
        expires: domain time by which it must have been taken over; None for never.
        key: what its author calls it: of several with one key, one is carried out.
    """

    user: str
    id: str
    verb: str
    arguments: tuple[str, ...]
    problem: str | None = None
    expires: float | None = None
    key: str | None = None


def _no_objection(_resource: str, _target: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class RoundInputs:
    """The outside world of one round.

    Attributes:
        at: domain time, seconds.
        node: the leader's node.
        online: node -> whether it is part of the quorate cluster right now.
        quorate: whether the cluster is quorate, as the leader's node sees it.
        claim_agent: tries to take the lock of a node's agent; granted only when that agent's lease is provably over.
        loads: what was measured, asked for when it is needed.
        versions: node -> version of the software there, for turning groups into rules.
        previous_round_at: when this leader's round before this one was, or None in its first.
        streak: consecutive rounds over the imbalance threshold so far.
        preflight: asks the driver whether a resource could move to a target; reasons against it, empty if none.
        platform_balances: the driver's platform balances by itself, so HAES must not.
        requests: what operators ask for, oldest first.
        undecidable: resource -> why an earlier try of this round could not decide about it.
        fence_delay: seconds that a node must be gone before its resources are taken from it.
        loads_patience: seconds for which a load may be missing before that is said, once; None: said in every round.
        early: the round comes before its time because something happened; load is looked at in regular rounds only.
        outside: the leader need not run on a working node; live, whoever reaches the log may lead.
    """

    at: float
    node: str
    online: Mapping[str, bool]
    quorate: bool
    claim_agent: Callable[[str], Claim]
    loads: Callable[[], Loads]
    versions: Mapping[str, str] = field(default_factory=dict)
    previous_round_at: float | None = None
    streak: int = 0
    preflight: Callable[[str, str], Sequence[str]] = _no_objection
    platform_balances: bool = False
    requests: Sequence[Request] = ()
    undecidable: Mapping[str, str] = field(default_factory=dict)
    fence_delay: float = FENCE_DELAY
    loads_patience: float | None = None
    early: bool = False
    outside: bool = False
