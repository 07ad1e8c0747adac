"""The first event after which a condition holds: by a fold that stops there, or by halving where that is allowed."""

from contextlib import aclosing
from dataclasses import dataclass

from events.errors import UserError
from events.history import History
from haes.state.cluster import ClusterState
from haes.state.restore import replay_state
from replay.language import Condition, Moment
from replay.language.names import FROM_EVENTS


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    Attributes:
        n: number of the first event after which the condition holds; None when it never does.
        already: it holds already before the first event of the stretch, which is the one after `n`.
        events: how many events were looked at, or how many states when halving.
        state: where the search ended.
    """

    n: int | None
    already: bool
    events: int
    state: ClusterState


async def find_first(history: History, condition: Condition, before: int, last: int) -> Found:
    """Returns the first event after `before`, up to `last`, after which a condition holds, by one fold.

    Raises:
        LogFault: an event cannot be understood.
    """
    # What only events tell is gathered from the start; everything else is in the state.
    begin = 0 if condition.names & FROM_EVENTS else before
    moment = Moment(await replay_state(history, begin))
    seen = 0
    if begin == before and condition.holds(moment):
        return Found(before, already=True, events=seen, state=moment.state)
    async with aclosing(history.events(begin, last)) as events:
        async for event in events:
            moment.follow(event)
            seen += 1
            if event.n >= before and condition.holds(moment):
                return Found(event.n, already=event.n == before, events=seen, state=moment.state)
    return Found(None, already=False, events=seen, state=moment.state)


async def find_first_by_halving(history: History, condition: Condition, before: int, last: int) -> Found:
    """Returns the same for a condition that, once it holds, holds for good; looks at few states.

    Raises:
        UserError: the condition uses what no snapshot holds.
        LogFault: an event cannot be understood.
    """
    if condition.names & FROM_EVENTS:
        names = ", ".join(sorted(condition.names & FROM_EVENTS))
        raise UserError(f"--monotone: {names} is in no snapshot; leave --monotone out")
    low, high, looked = before, last, 0

    async def state_at(n: int) -> ClusterState:
        nonlocal looked
        looked += 1
        return await replay_state(history, n)

    state = await state_at(low)
    if condition.holds(Moment(state)):
        return Found(low, already=True, events=looked, state=state)
    state = await state_at(high)
    if not condition.holds(Moment(state)):
        return Found(None, already=False, events=looked, state=state)
    # It does not hold after `low`, and it does after `high`.
    while high - low > 1:
        middle = (low + high) // 2
        found = await state_at(middle)
        if condition.holds(Moment(found)):
            high, state = middle, found
        else:
            low = middle
    return Found(high, already=False, events=looked, state=state)


def never_there(condition: Condition, state: ClusterState) -> list[str]:
    """Returns the resources and nodes that a condition asks for and a state has never heard of, in words."""
    known = {
        "resource": {subject for subject in state.versions if ":" in subject} | state.resources.keys(),
        "node": state.members | state.nodes.keys() | state.versions.keys(),
    }
    return [f"{kind} '{name}'" for kind, name in sorted(condition.asked) if name not in known[kind]]
