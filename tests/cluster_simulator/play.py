"""Plays a story on a cluster and says what was wrong; shortens a story that ends badly."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

from events.errors import HaesError
from events.history import History
from haes.configuration.cluster import Intervals
from replay.verify import verify
from tests.cluster_simulator.cluster import Cluster
from tests.cluster_simulator.nemesis import Nemesis, received
from tests.cluster_simulator.server import Link, SimulatedLog
from tests.cluster_simulator.story import Fault, make_story

# Seconds between two looks at what must hold all the time.
LOOK = 5.0
# Terms of an agent, and seconds, after the faults within which everything that should run does.
TERMS, BOUND = 3, 240.0
# Seconds for which nothing may be written then.
SILENCE = 40.0
# What comes in its own time: an agent without services lets its lock go, a service counts as healthy again.
RESTING = {"agent.went_idle", "agent.wait_for_agent_lock", "agent.reported", "service.healthy"}


@dataclass
class Result:
    """What came of a run.

    Attributes:
        seed: of the run.
        profile: of the run.
        story: what went wrong on purpose.
        violations: what must not be.
        trace: what happened.
        hours: virtual ones.
        events: how many were written.
    """

    seed: int
    profile: str
    story: Sequence[Fault]
    violations: list[str]
    trace: list[str]
    hours: float
    events: int


def intervals_of(seed: int) -> tuple[float, Intervals]:
    """Returns the pace of a run, 1 for the usual intervals, and its intervals."""
    pace = random.Random(f"pace {seed}").choice((0.2, 0.5, 1.0))  # noqa: S311 - it is to be repeated
    usual = Intervals()
    return pace, Intervals(
        round=usual.round * pace,
        agent_round=usual.agent_round * pace,
        leader_lease=usual.leader_lease * pace,
        agent_lease=usual.agent_lease * pace,
        fence_delay=usual.fence_delay * pace,
        sample=usual.sample * pace,
        snapshot_events=60,
    )


def play(seed: int, profile: str, story: Sequence[Fault] | None = None) -> Result:
    """Plays a story, that of the seed and the profile unless another one is given."""
    faults = make_story(seed, profile) if story is None else story
    pace, intervals = intervals_of(seed)
    cluster = Cluster(seed, intervals=intervals, pace=pace)
    nemesis = Nemesis(cluster)
    cluster.watch.disturbed = nemesis.disturbed

    async def main() -> None:
        cluster.start_all()
        looker = cluster.loop.create_task(_look(cluster))
        for fault in faults:
            await asyncio.sleep(max(0.0, fault.at - cluster.loop.time()))
            nemesis.do(fault)
        await asyncio.sleep(2.0)
        await _end(cluster, nemesis)
        looker.cancel()

    cluster.run(main)
    hours = cluster.loop.time() / 3600
    return Result(seed, profile, faults, cluster.violations, cluster.trace, hours, cluster.watch.state.n)


async def _look(cluster: Cluster) -> None:
    while True:
        await asyncio.sleep(LOOK)
        cluster.watch.look()


async def _end(cluster: Cluster, nemesis: Nemesis) -> None:
    """Ends the faults; everything must come to rest, and stay there."""
    nemesis.heal()
    cluster.say("all faults are over", "nemesis")
    limit = cluster.loop.time() + TERMS * cluster.intervals.agent_lease + BOUND
    asked_at = 0.0
    quiet_for, steady = 10.0 + 2 * cluster.intervals.leader_lease, cluster.loop.time()
    while True:
        why = _restless(cluster)
        if why is not None:
            steady = cluster.loop.time()
        elif cluster.loop.time() > steady + quiet_for:
            break
        if cluster.loop.time() > limit:
            cluster.wrong(f"not at rest after {TERMS * cluster.intervals.agent_lease + BOUND:g} s: {why}")
            break
        if cluster.loop.time() > asked_at + 20.0 * cluster.pace + 5.0:
            asked_at = cluster.loop.time()
            _clear_up(cluster, nemesis)
        await asyncio.sleep(2.0)
    if why is None:
        before = cluster.watch.state.n
        await asyncio.sleep(SILENCE)
        news = [event for event in cluster.watch.events[before:] if event.type not in RESTING]
        if news:
            cluster.wrong(f"events were written although nothing was to be done: {news[0].type} {news[0].subject}")
    cluster.watch.look()
    await _check(cluster, nemesis)


def _clear_up(cluster: Cluster, nemesis: Nemesis) -> None:
    """Asks for what operators do after a bad day."""
    state = cluster.watch.state
    if state.disarm is not None:
        nemesis.ask("eve", "arm-ha")
    for node in sorted(state.maintenance):
        nemesis.ask("eve", "disable-node-maintenance", node)
    for name, record in sorted(state.resources.items()):
        configuration = state.configurations.get(name)
        if configuration is None:
            continue
        if record.state == "error" and configuration.state != "disabled":
            nemesis.ask("eve", "configure", name, '{"state": "disabled"}')
        elif record.state == "stopped" and configuration.state != "started":
            nemesis.ask("eve", "configure", name, '{"state": "started"}')


def _restless(cluster: Cluster) -> str | None:
    """Returns what is not at rest, None when everything is."""
    state, runs = cluster.watch.state, cluster.truth.runs
    if any(side for name, side in cluster.server.log._side._streams.items() if name.startswith("commands:")):
        return "requests wait"
    if state.commands:
        return f"commands wait: {sorted(state.commands)}"
    if state.disarm is not None or state.maintenance:
        return "people have something out of service"
    for node in cluster.nodes:
        if state.node_state(node) != "online":
            return f"{node} is {state.node_state(node)}"
    for name, record in state.resources.items():
        configuration = state.configurations.get(name)
        if configuration is None:
            return f"{name} is there without a configuration"
        if configuration.state != "started" or record.state != "started" or not record.running:
            return f"{name} is {record.state}, configured {configuration.state}, running {record.running}"
        if runs.get(name) != [record.node]:
            return f"{name} runs on {runs.get(name)}, on record is {record.node}"
    if set(state.configurations) != set(state.resources):
        return "a configured service is not looked after"
    for name, hosts in runs.items():
        if hosts and name not in state.resources:
            return f"{name} runs and is not in the cluster"
    for member in cluster.members.values():
        if member.worker.replica.state.n != state.n:
            return f"{member.name} is at event {member.worker.replica.state.n} of {state.n}"
        if getattr(member.worker, "_reset", None) is not None:
            return f"{member.name} is about to begin anew"
        if member.worker._process.state in {"startup", "wait_for_quorum", "lost_manager_lock", "lost_agent_lock"}:
            return f"{member.name} is in state {member.worker._process.state}"
    if len(cluster.members) != 2 * len(cluster.nodes):
        return "processes are missing"
    return None


async def _check(cluster: Cluster, nemesis: Nemesis) -> None:
    """What can be told at the end only."""
    log, whole = cluster.server.log, cluster.watch.whole().to_data()
    for member in cluster.members.values():
        state = member.worker.replica.state
        if state.n == whole["n"] and state.to_data() != whole:
            cluster.wrong(f"{member.name} believes something else than the fold from zero")
    waiting = {
        (name.partition(":")[2], entry.id)
        for name, entries in log._side._streams.items()
        for entry in entries
        if name.startswith("commands:")
    }
    numbers = received(cluster.watch.events)
    for user, request in sorted(set(nemesis.written) - set(numbers) - waiting - nemesis.excused):
        cluster.wrong(f"request {request} of {user} was written and is lost")
    for (user, request), count in numbers.items():
        if count > 1:
            cluster.wrong(f"request {request} of {user} was received {count} times")
    try:
        report = await verify(History(SimulatedLog(Link(cluster.server)), lenient=True))
    except HaesError as error:
        cluster.wrong(f"the stream cannot be verified: {error}")
        return
    for finding in report.findings[:5]:
        cluster.wrong(f"verify: {finding}")
    for subject, reason in report.parked.items():
        cluster.wrong(f"{subject} is parked: {reason}")


def shorten(result: Result, *, tries: int = 150) -> Result:
    """Leaves out faults as long as the story still ends in a violation of the same kind; returns the shortest found."""
    best, size = result, max(1, len(result.story) // 2)
    kind = _kind(result)
    while size and tries > 0:
        start = 0
        while start < len(best.story) and tries > 0:
            tries -= 1
            story = [*best.story[:start], *best.story[start + size :]]
            found = play(result.seed, result.profile, story)
            if found.violations and _kind(found) == kind:
                best = found
            else:
                start += size
        size //= 2
    return best


def _kind(result: Result) -> str:
    """Returns what makes two violations alike: the text without names and numbers of the moment."""
    return "".join(letter for letter in result.violations[0] if letter.isalpha())[:24] if result.violations else ""
