"""The breaker: many failed motions in a row pause the balancer as a whole."""

from itertools import pairwise

from haes.balancer.breaker import is_open
from haes.manager.context import Round
from haes.manager.inputs import Claim, Loads, RoundInputs
from haes.manager.rules_in_use import RulesInUse
from haes.state import ClusterState
from haes.state.batch import Batch
from tests.builders import cluster, motions, tell

FOUR = {f"vm:10{number}": {"node": 1} for number in range(1, 5)}
BREAKER = {"ha-auto-rebalance-breaker": 3, "ha-auto-rebalance-hold-duration": 1}


async def test_failed_motions_in_a_row_pause_the_balancer_whatever_the_pairs() -> None:
    """After three failures of different pairs it pauses ten minutes, tries one motion, and pauses twice as long."""
    story = await tell(cluster(FOUR, crs=BREAKER, rounds=45), motions(fail=lambda *_: True))
    issued = [event.at for event in story.of("balance.motion")]
    paused = story.of("balance.paused")
    assert len(set(story.motions()[:3])) == 3
    assert [event.payload["minutes"] for event in paused] == [10, 20, 40, 80]
    assert [event.payload["failures"] for event in paused] == [3, 4, 5, 6]
    # Between two pauses there is exactly one motion, the trial.
    for before, after in pairwise(paused):
        trials = [at for at in issued if before.at <= at < after.at]
        assert len(trials) == 1
        assert trials[0] >= before.payload["until"]
    assert [event.payload["reason"] for event in story.of("balance.resumed")][:2] == ["trial", "trial"]
    assert "paused" in story.reasons()


async def test_a_success_closes_the_breaker() -> None:
    """When the trial works, the count and the length of the next pause begin anew."""
    story = await tell(cluster(FOUR, crs=BREAKER, rounds=12), motions(fail=lambda _resource, _target, at: at < 600))
    assert len(story.of("balance.paused")) == 1
    memory = story.state.balance
    assert [outcome for outcome, _, _ in story.outcomes()][:4] == ["balance.failed"] * 3 + ["balance.moved"]
    assert (memory.failed_in_a_row, memory.pauses, memory.paused_failures, memory.paused_until) == (0, 0, 0, None)
    assert len(story.of("balance.motion")) > 4


async def test_a_success_in_between_keeps_the_breaker_closed() -> None:
    """Only failures in a row count."""
    count = 0

    def fail(*_: object) -> bool:
        nonlocal count
        count += 1
        return count % 3 != 0

    crs = {**BREAKER, "ha-auto-rebalance-cooldown": 0, "ha-auto-rebalance-margin": 0}
    many = {f"vm:1{number:02}": {"node": 1, "mem": 2} for number in range(12)}
    story = await tell(cluster(many, crs=crs, rounds=12), motions(fail=fail))
    assert len(story.of("balance.failed")) > 3
    assert not story.of("balance.paused")


async def test_zero_switches_the_breaker_off() -> None:
    """Without a breaker failures never pause the balancer."""
    crs = {**BREAKER, "ha-auto-rebalance-breaker": 0}
    story = await tell(cluster(FOUR, crs=crs, rounds=12), motions(fail=lambda *_: True))
    assert len(story.of("balance.failed")) > 10
    assert not story.of("balance.paused")


def test_pauses_double_up_to_twelve_hours() -> None:
    """10, 20, 40 ... 720 minutes, and then 720 for ever."""
    state, now, minutes = ClusterState(), 0.0, []
    state.balance.failed_in_a_row = 9
    for _ in range(10):
        state.balance.failed_in_a_row += 1
        assert is_open(_round(state, now))
        minutes.append(round((state.balance.paused_until - now) / 60))
        assert is_open(_round(state, now + 1))
        now = state.balance.paused_until
        assert not is_open(_round(state, now))
    assert minutes == [10, 20, 40, 80, 160, 320, 640, 720, 720, 720]


def _round(state: ClusterState, now: float) -> Round:
    inputs = RoundInputs(now, "node1", {}, quorate=True, claim_agent=lambda _node: Claim.NEW, loads=Loads)
    return Round(state, Batch(state, "node1/crm", now), inputs, RulesInUse())
