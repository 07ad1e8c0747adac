"""Stories that are played at every change: some of every profile, and those that once ended badly."""

import pytest

from tests.cluster_simulator.__main__ import told
from tests.cluster_simulator.play import play
from tests.cluster_simulator.story import PROFILES, Fault, make_story

# Seconds of a story that is played at every change, and how many of each profile are.
SHORT, SEEDS = 60.0, 6

# What was wrong -> seed, profile, and the faults that led to it.
FOUND: dict[str, tuple[int, str, list[Fault]]] = {
    "After a failover an agent waited for its own lease, of the generation before, until its services were killed.": (
        28,
        "server",
        [
            Fault(82.97, "lose_replies", value=0.05, seconds=21.4),
            Fault(86.11, "fail_over", value=0.28, seconds=2.7),
            Fault(87.39, "restart_server", seconds=2.2),
            Fault(89.98, "command", words=("ann", "configure", "vm:3", '{"node": "node1", "state": "started"}')),
            Fault(90.26, "fail_over", value=1.13, seconds=2.2),
            Fault(91.48, "kill", "agent node3"),
            Fault(95.59, "command", words=("ann", "configure", "vm:2", '{"state": "started"}')),
        ],
    ),
    "A manager whose election was written, but not heard of, was elected once more with the same epoch.": (
        22,
        "server",
        make_story(22, "server"),
    ),
    "A follower that slept through a failover went on in another history, and believed what nobody had written.": (
        28,
        "server",
        make_story(28, "server"),
    ),
    "An agent's report of a job whose order was lost with the end of the log was called a cause from nowhere.": (
        2003,
        "server",
        [
            Fault(52.14972, "fail_over", value=2.85219, seconds=1.7),
            Fault(52.43655, "command", words=("bob", "enable-node-maintenance", "node2")),
        ],
    ),
    "A manager that lost its lease while it began died when it stood by, for it had never begun.": (
        15,
        "network",
        [
            Fault(73.64, "cut_node", "node3", seconds=73.2),
            Fault(79.47, "cut", "manager node3", seconds=26.8),
            Fault(79.71, "slow", value=0.5, seconds=9.0),
            Fault(80.58, "command", words=("ann", "unconfigure", "vm:1")),
            Fault(81.18, "kill", "manager node3"),
            Fault(85.81, "lose_replies", value=0.3, seconds=12.5),
            Fault(90.84, "lose_requests", value=0.05, seconds=16.8),
        ],
    ),
}


@pytest.mark.parametrize("profile", PROFILES)
def test_short_stories_end_well(profile: str) -> None:
    """Whatever the seed chooses to go wrong, nothing that is promised is broken."""
    for seed in range(1, SEEDS + 1):
        story = [fault for fault in make_story(seed, profile) if fault.at < SHORT]
        result = play(seed, profile, story)
        assert not result.violations, told(result)


@pytest.mark.parametrize("what", FOUND)
def test_what_once_went_wrong_does_not_any_more(what: str) -> None:
    """A story that ended badly once ends well."""
    seed, profile, story = FOUND[what]
    result = play(seed, profile, story)
    assert not result.violations, told(result)


def test_a_service_that_died_is_confirmed_once() -> None:
    """A service that died twice and moved is reported and confirmed once, not in every round until it is healthy."""
    crashes = [Fault(201.45, "crash_service", "vm:1"), Fault(218.52, "crash_service", "vm:1")]
    off = [Fault(161.59, "power_off", "node1", seconds=59.2), Fault(164.62, "power_off", "node2", seconds=13.9)]
    asked = Fault(159.01, "command", words=("ann", "configure", "process:a", '{"state": "started"}'))
    result = play(11, "nodes", [asked, *off, *crashes])
    assert not result.violations, told(result)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_hours_end_well() -> None:
    """Whole stories of every profile, one after the other, each with a seed of its own."""
    for seed in range(1000, 1006):
        for profile in PROFILES:
            result = play(seed, profile)
            assert not result.violations, told(result)
