"""Asking the balancer for advice: it answers in the leader's next round, and moves nothing for it."""

from tests.builders import asked, cluster, tell

CROWDED = {f"vm:10{number}": {"node": 1} for number in range(1, 4)}
SPREAD = {f"vm:10{number}": {"node": number} for number in range(1, 4)}


async def test_advice_comes_though_the_balancer_is_off() -> None:
    """An operator who asks is told the best motion, whatever the balancer's switch says, and nothing moves."""
    story = await tell(cluster(CROWDED, crs={"ha-auto-rebalance": 0}, rounds=4), asked(180, "rebalance-advise"))
    (advice,) = story.of("balance.advised")
    assert (advice.payload["leader"], advice.payload["target"]) == ("vm:101", "node2")
    assert advice.payload["after"] < advice.payload["before"]
    assert story.motions() == []
    assert not story.state.commands
    assert not story.state.balance.advice_wanted


async def test_advice_says_why_there_is_none() -> None:
    """A balanced cluster gets an answer, too: the reason."""
    story = await tell(cluster(SPREAD, crs={"ha-auto-rebalance": 0}, rounds=4), asked(180, "rebalance-advise"))
    assert story.reasons() == ["no_improvement"]
    assert story.of("balance.advised") == []


async def test_advice_without_loads_is_refused_with_the_reason() -> None:
    """The basic scheduler knows no loads, and says so."""
    story = await tell(cluster(CROWDED, crs={"ha": "basic"}, rounds=4), asked(180, "rebalance-advise"))
    assert "scheduler_mode" in story.reasons()


async def test_advice_while_disarmed_is_answered() -> None:
    """Nobody who asks waits for ever: a disarmed cluster answers that it is."""
    steps = [["crm node1 disarm-ha freeze"], []]
    scenario = cluster(CROWDED, steps=steps, crs={"ha-auto-rebalance": 0}, rounds=6)
    story = await tell(scenario, asked(380, "rebalance-advise"))
    assert story.reasons() == ["disarmed"]
    assert not story.state.balance.advice_wanted
