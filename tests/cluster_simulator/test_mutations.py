"""The search finds what it is for: with an old fault put back by a patch, some story ends badly soon."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from events.log.port import EventLog
from events.log.side import SideStreams
from events.snapshots import Snapshot, save_snapshot
from haes.live import manager
from haes.live.follow import position_after
from haes.manager.inputs import Request
from haes.state.cluster import ClusterState
from haes.state.snapshot import encode_state
from tests.cluster_simulator.play import play

# Simulated hours within which it is found.
HOURS = 3.0

Patch = Callable[[pytest.MonkeyPatch], None]


def _forget_what_is_about_to_be_written(patch: pytest.MonkeyPatch) -> None:
    """Requests are removed once they are read, before their receipt is on the log."""
    read = manager.pending_requests

    async def hasty(side: SideStreams, state: ClusterState, *rest: Any, **values: Any) -> list[Request]:
        found = await read(side, state, *rest, **values)
        for request in found:
            await side.drop(f"commands:{request.user}", [request.id])
        return found

    patch.setattr(manager, "pending_requests", hasty)


def _encode_late(patch: pytest.MonkeyPatch) -> None:
    """A snapshot is encoded after its position was looked up, when the state has moved on."""

    async def save(log: EventLog, state: ClusterState) -> bool:
        position = await position_after(log, state.n)
        await asyncio.sleep(0.5)
        await save_snapshot(log, Snapshot(position, encode_state(state)))
        return True

    patch.setattr(manager, "save_state", save)


MUTATIONS: dict[str, tuple[Patch, str]] = {
    "a command is lost": (_forget_what_is_about_to_be_written, "network"),
    "a snapshot lies about its position": (_encode_late, "processes"),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", MUTATIONS)
def test_the_search_finds(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fault put back, a story ends badly."""
    mutate, profile = MUTATIONS[what]
    mutate(monkeypatch)
    hours, seed = 0.0, 0
    while hours < HOURS:
        seed += 1
        result = play(seed, profile)
        hours += result.hours
        if result.violations:
            return
    pytest.fail(f"nothing was found in {hours:.0f} simulated hours")
