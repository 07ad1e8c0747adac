"""Playing events in their own time: as fast as asked, never early, with no waiting that adds up."""

from collections.abc import AsyncIterator

import pytest

from events.envelope import Event
from replay.play import play


class _Clock:
    """A clock that goes on when somebody sleeps, or does something that takes its time."""

    def __init__(self) -> None:
        self.now = 1000.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def _events(*times: float) -> AsyncIterator[Event]:
    for at in times:
        yield Event("job.running", "vm:1", "node1/lrm", at)


@pytest.mark.parametrize(("speed", "expected"), [(1, [0, 10, 10, 40]), (20, [0, 0.5, 0.5, 2]), (0, [0, 0, 0, 0])])
async def test_events_come_in_scaled_time(speed: float, expected: list[float]) -> None:
    """An event comes when as much time has passed as in the domain, divided by the speed; at speed 0 at once."""
    clock = _Clock()
    played = play(_events(80, 90, 90, 120), speed, clock=lambda: clock.now, sleep=clock.sleep)
    assert [clock.now - 1000 async for _ in played] == pytest.approx(expected)


async def test_time_that_passes_elsewhere_is_not_waited_for_again() -> None:
    """Slow printing delays what comes next, but not what comes after that."""
    clock, came = _Clock(), []
    async for _ in play(_events(0, 1, 10), 1, clock=lambda: clock.now, sleep=clock.sleep):
        came.append(clock.now - 1000)
        clock.now += 3
    assert came == [0, 3, 10]


async def test_a_clock_of_the_domain_that_goes_back_is_not_waited_for() -> None:
    """Events of several authors may be a moment out of order; they come at once."""
    clock = _Clock()
    played = play(_events(10, 12, 11, 13), 1, clock=lambda: clock.now, sleep=clock.sleep)
    assert [clock.now - 1000 async for _ in played] == [0, 2, 2, 3]
