"""The balancer's memory stays bounded, however long the cluster lives and whatever comes and goes."""

from hypothesis import given
from hypothesis import strategies as st

from events.envelope import Event
from haes.balancer.memory import BalanceMemory
from haes.state import ClusterState
from haes.state.fold import apply_event

DAY = 24 * 3600
# So many resources and nodes are there at any time; each day one of each is replaced by another.
RESOURCES, NODES = 20, 4


class _Churn:
    """A cluster whose resources and nodes come and go while the balancer fails, succeeds and is refused."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self.number = 0

    def happens(self, type_: str, subject: str, at: float, **payload: object) -> None:
        self.number += 1
        apply_event(self.state, Event(type_, subject, "node1/crm", at, payload, n=self.number))

    def moves(self, resource: str, target: str, at: float, *, fails: bool) -> None:
        memory = self.state.balance
        self.happens(
            "balance.motion",
            "balance",
            at,
            number=memory.motions + 1,
            series=memory.series,
            policy="series",
            verb="migrate",
            leader=resource,
            members=[resource],
            source="node0",
            target=target,
        )
        if fails:
            known = memory.failures.get((resource, target))
            attempts = 1 if known is None else known.attempts + 1
            self.happens(
                "balance.failed",
                "balance",
                at,
                resource=resource,
                target=target,
                attempts=attempts,
                first_series=memory.series + 2,
                reason="exit code 1",
            )
        else:
            self.happens("balance.moved", "balance", at, resource=resource, target=target, cooldown_until=at + 600)


def _size(memory: BalanceMemory) -> int:
    return len(memory.failures) + len(memory.cooldowns) + len(memory.impossible)


def test_a_year_of_churn_does_not_grow_the_memory() -> None:
    """What concerns resources and nodes that no longer exist is dropped, so the memory is as large as the cluster."""
    churn = _Churn()
    resources = [f"vm:{number}" for number in range(RESOURCES)]
    nodes = [f"node{number}" for number in range(NODES)]
    largest = 0
    for resource in resources:
        churn.happens("resource.configured", resource, 0, changes={"node": "node0"})
    for node in nodes:
        churn.happens("node.added", node, 0)
    for day in range(365):
        at = float(day * DAY)
        for number, resource in enumerate(resources):
            target = nodes[(day + number) % NODES]
            churn.moves(resource, target, at, fails=number % 3 != 0)
            if number % 5 == 0:
                churn.happens(
                    "balance.preflight",
                    "balance",
                    at,
                    resource=resource,
                    target=target,
                    reasons=["its disks are local"],
                    until=at + 3600,
                )
        largest = max(largest, _size(churn.state.balance))
        churn.happens("resource.unconfigured", resources.pop(0), at)
        resources.append(f"vm:{RESOURCES + day}")
        churn.happens("resource.configured", resources[-1], at, changes={"node": nodes[0]})
        churn.happens("node.removed", nodes.pop(0), at)
        nodes.append(f"node{NODES + day}")
        churn.happens("node.added", nodes[-1], at)
    memory = churn.state.balance
    assert not churn.state.parked
    assert memory.motions == 365 * RESOURCES
    assert largest <= RESOURCES * (2 * NODES + 1)
    assert {resource for resource, _ in memory.failures} <= set(resources)
    assert {target for _, target in memory.failures} <= set(nodes)
    assert set(memory.cooldowns) <= set(resources)
    assert {resource for resource, _ in memory.impossible} <= set(resources)
    assert {target for _, target in memory.impossible} <= set(nodes)


names = st.sampled_from(["vm:1", "vm:10", "vm:101"])
targets = st.sampled_from(["node1", "node10"])
changes = st.lists(st.tuples(st.sampled_from(["moved", "failed", "retried", "removed"]), names, targets), max_size=30)


@given(changes)
def test_a_pair_is_changed_only_by_what_concerns_it(given_changes: list[tuple[str, str, str]]) -> None:
    """For every pair, what happened to other pairs makes no difference to its count of failures."""
    churn, expected = _Churn(), dict[tuple[str, str], int]()
    for at, (what, resource, target) in enumerate(given_changes):
        pair = (resource, target)
        if what == "failed":
            churn.moves(resource, target, at, fails=True)
            expected[pair] = expected.get(pair, 0) + 1
        elif what == "moved":
            churn.moves(resource, target, at, fails=False)
            expected.pop(pair, None)
        elif what == "retried":
            churn.happens("balance.retried", "balance", at, resource=resource, target=target)
            expected.pop(pair, None)
        else:
            churn.happens("resource.unconfigured", resource, at)
            expected = {key: count for key, count in expected.items() if key[0] != resource}
    assert {pair: failure.attempts for pair, failure in churn.state.balance.failures.items()} == expected


@given(st.data())
def test_a_copy_of_the_memory_is_independent(data: st.DataObject) -> None:
    """Whatever happens to a copy never reaches the memory that it was made of."""
    churn = _Churn()
    for at in range(3):
        churn.moves(data.draw(names), data.draw(targets), at, fails=data.draw(st.booleans()))
    original = churn.state
    before = original.to_data()
    churn.state = original.working_copy()
    for at in range(3):
        churn.moves(data.draw(names), data.draw(targets), at, fails=data.draw(st.booleans()))
    churn.happens("balance.series", "balance", 9, number=99)
    churn.happens("balance.retried", "balance", 9)
    assert original.to_data() == before
