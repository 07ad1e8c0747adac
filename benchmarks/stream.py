"""A stream such as a live cluster writes it, made without a cluster: motions, restarts, failures, operators, failovers.

Every event is made by the core's own batch, which refuses what the state machines do not allow, so that the stream
folds without anything parked. The same seed gives the same events.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Any

from events.envelope import Event
from haes.settings import crs
from haes.state.batch import Batch
from haes.state.cluster import ClusterState

# Domain time of the first round, seconds; live times have a fraction of microseconds.
BEGIN = 1764572323.125482
# Seconds between two rounds.
ROUND = 10.0
# Stories that are under way at once: what a round of a busy cluster of this size has to do.
STORIES = 12
# How often each story begins, as weights: most are the balancer's motions and restarts, few are failures of nodes.
WEIGHTS = {"motion": 60, "failing": 20, "restart": 30, "ordered": 10, "quiet": 60, "failover": 2, "node_lost": 0.3}

Story = Iterator[None]


class Life:
    """A made-up cluster whose events can be taken as long as one likes.

    Args:
        nodes: how many nodes it has.
        resources: how many resources it looks after.
        seed: of all that is left to chance.
    """

    def __init__(self, nodes: int, resources: int, seed: int = 1) -> None:
        self.state = ClusterState()
        self._nodes = [f"node{number}" for number in range(1, nodes + 1)]
        self._names = [f"vm:{100 + number}" for number in range(resources)]
        self._random = Random(seed)
        self._at = BEGIN
        self._batch = Batch(self.state, "operator", self._at)
        self._busy: set[str] = set()

    def events(self, count: int) -> Iterator[Event]:
        """Yields so many events, from the cluster's beginning on."""
        yield from islice(self._all(), count)

    def _all(self) -> Iterator[Event]:
        self._begin()
        yield from self._taken()
        stories: list[Story] = []
        while True:
            self._at += ROUND + self._random.random() / 1000
            self._batch.at = self._at
            while len(stories) < STORIES:
                kind = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
                story: Callable[[], Story] = getattr(self, f"_{kind}")
                stories.append(story())
            # Each story has a turn of the leader and one of the agents in every round.
            for _ in range(2):
                stories = [story for story in stories if next(story, self) is not self]
                yield from self._taken()

    def _taken(self) -> list[Event]:
        events, self._batch.events = self._batch.events, []
        return events

    def _emit(self, type_: str, subject: str, by: str, **values: Any) -> None:
        self._batch.emit(type_, subject, by=by, **values)

    def _crm(self, type_: str, subject: str, **values: Any) -> None:
        self._emit(type_, subject, f"{self.state.leader}/crm", **values)

    def _lrm(self, node: str, type_: str, subject: str, **values: Any) -> None:
        self._emit(type_, subject, f"{node}/lrm", **values)

    def _job(self, name: str) -> str:
        return f"job/{name}/{self.state.resources[name].job}"

    def _begin(self) -> None:
        self._emit("cluster.created", "cluster", "operator", name="main")
        crs = {"ha": "dynamic", "ha-auto-rebalance": 1, "ha-auto-rebalance-backoff": "time"}
        self._emit("settings.changed", "settings", "operator", settings={"crs": crs})
        for node in self._nodes:
            self._emit("node.added", node, "operator")
        for number, name in enumerate(self._names):
            changes = {"node": self._nodes[number % len(self._nodes)], "state": "started", "failback": True}
            changes |= {"max_restart": 1, "max_relocate": 1, "group": None, "lock": None, "auto_rebalance": True}
            self._emit("resource.configured", name, "operator", changes=changes | {"needs": {}})
        self._elect(self._nodes[0], "wait_for_quorum")
        self._crm("cluster.membership", "cluster", online=self._nodes, left={})
        for node in self._nodes:
            self._crm("node.online", node, previous="unknown")
            self._lrm(node, "agent.active", node, previous="wait_for_agent_lock")
            self._lrm(node, "agent.reported", node, state="active", mode="active")
        for name in self._names:
            self._crm("resource.added", name, node=self.state.configurations[name].node, state="request_start")
            self._start(name, "request_start")
            self._run_start(name)
            self._confirm(name)

    def _elect(self, node: str, previous: str) -> None:
        self._emit("manager.master", node, f"{node}/crm", about=f"was {previous}", previous=previous)
        self._emit("leader.elected", "cluster", f"{node}/crm", about=node, node=node)
        self._crm("scheduler.selected", "cluster", about="dynamic", mode="dynamic", previous=None)
        self._crm("rules.applied", "rules", digest="6e340b9cffb37a98", nodes=self._nodes, dropped=[])

    # What the leader decides and what agents do for it.

    def _start(self, name: str, previous: str) -> None:
        node = self.state.resources[name].node
        cause = self._job(name)
        self._crm("resource.started", name, about=f"was {previous}", cause=cause, previous=previous, node=node)

    def _run_start(self, name: str) -> None:
        node, cause = self.state.resources[name].node, self._job(name)
        self._lrm(node, "job.starting", name, cause=cause)
        self._lrm(node, "job.running", name, cause=cause)
        self._done(name, node, "started", 0)

    def _done(self, name: str, node: str, state: str, code: int) -> None:
        job = self.state.resources[name].job
        about = f"{state}, exit code {code}"
        self._lrm(node, "job.done", name, about=about, cause=self._job(name), job=job, state=state, exit_code=code)

    def _confirm(self, name: str) -> None:
        self._crm("resource.confirmed", name, node=self.state.resources[name].node, failed_nodes=[])

    def _free(self) -> str:
        """Takes a resource that no other story is about."""
        while (name := self._random.choice(self._names)) in self._busy or not self._is_up(name):
            pass
        self._busy.add(name)
        return name

    def _is_up(self, name: str) -> bool:
        record = self.state.resources[name]
        return record.state == "started" and self.state.nodes[record.node] == "online"

    def _target(self, name: str) -> str:
        source = self.state.resources[name].node
        return self._random.choice([node for node in self.state.online_nodes() if node != source])

    def _alternatives(self, count: int) -> list[dict[str, Any]]:
        return [
            {
                "resource": self._random.choice(self._names),
                "source": self._random.choice(self._nodes),
                "target": self._random.choice(self._nodes),
                "after": self._random.random(),
            }
            for _ in range(count)
        ]

    def _excluded(self, count: int) -> list[dict[str, Any]]:
        names = self._random.sample(self._names, count)
        return [
            {"leader": name, "resource": name, "target": None, "reason": "cooldown", "until": self._at + 300}
            for name in names
        ]

    # Stories: each `yield` ends a turn.

    def _move(self, *, fails: bool) -> Story:
        state = self.state
        if state.balance.motion is not None:
            return
        name = self._free()
        source, target = state.resources[name].node, self._target(name)
        number = state.balance.motions + 1
        origin = f"motion/{number}"
        self._crm(
            *("balance.motion", "balance"),
            about=f"{name} {source} to {target}",
            correlation=origin,
            number=number,
            series=state.balance.series,
            policy="time",
            method="bruteforce",
            streak=3,
            alternatives=self._alternatives(5),
            excluded=self._excluded(4),
            sample=None,
            verb="migrate",
            leader=name,
            members=[name],
            source=source,
            target=target,
            before=self._random.random(),
            after=self._random.random(),
        )
        yield from self._carry_out(name, target, origin, None, fails=fails)
        if fails:
            known = state.balance.failures.get((name, target))
            attempts = 1 if known is None else known.attempts + 1
            base, longest = (crs(state.settings, f"ha-auto-rebalance-backoff-{key}") for key in ("base", "max"))
            self._crm(
                *("balance.failed", "balance"),
                about=f"{name} to {target}, attempt {attempts}",
                cause=origin,
                resource=name,
                target=target,
                verb="migrate",
                attempts=attempts,
                policy="time",
                until=self._at + min(base * 2 ** (attempts - 1), longest),
                skip=None,
                first_series=None,
                reason="exit code 1",
            )
        else:
            until = self._at + crs(state.settings, "ha-auto-rebalance-cooldown")
            about = f"{name} to {target}"
            self._crm(
                *("balance.moved", "balance"),
                about=about,
                cause=origin,
                resource=name,
                target=target,
                cooldown_until=until,
            )
        self._busy.discard(name)

    def _carry_out(self, name: str, target: str, origin: str, command: int | None, *, fails: bool) -> Story:
        state = self.state
        source = state.resources[name].node
        queued = {"verb": "migrate", "target": target, "origin": origin, "command": command}
        about = f"migrate to {target}"
        self._crm("resource.motion_queued", name, about=about, cause=origin, correlation=origin, **queued)
        about, why = f"was started, to {target}", {"because": "command", "origin": origin}
        self._crm(
            "resource.migrate", name, about=about, cause=origin, previous="started", node=source, target=target, **why
        )
        yield
        cause = self._job(name)
        self._lrm(source, "job.moving", name, cause=cause, verb="migrate", target=target)
        yield
        yield
        if fails:
            self._lrm(source, "job.move_failed", name, cause=cause)
        else:
            self._lrm(source, "job.moved", name, cause=cause, verb="migrate", target=target)
        self._done(name, source, "migrate", int(fails))
        yield
        if fails:
            self._crm("resource.motion_failed", name, about="exit code 1", exit_code=1)
        node = source if fails else target
        self._crm("resource.started", name, about="was migrate", cause=cause, previous="migrate", node=node)
        yield
        self._run_start(name)
        yield
        self._confirm(name)

    def _motion(self) -> Story:
        return self._move(fails=False)

    def _failing(self) -> Story:
        return self._move(fails=True)

    def _command(self, verb: str, *arguments: str) -> int:
        number = self.state.command_count + 1
        text = " ".join((verb, *arguments))
        values = {"id": number, "verb": verb, "arguments": list(arguments), "text": text, "user": "operator"}
        correlation = f"command/{number}"
        self._emit("command.received", "commands", "operator", about=text, correlation=correlation, **values)
        return number

    def _ordered(self) -> Story:
        """An operator moves a resource."""
        name = self._free()
        target = self._target(name)
        number = self._command("migrate", name, target)
        yield from self._carry_out(name, target, f"command/{number}", number, fails=False)
        self._busy.discard(name)

    def _restart(self) -> Story:
        name = self._free()
        node = self.state.resources[name].node
        self._emit("resource.configured", name, "operator", about="stopped", changes={"state": "stopped"})
        cause = self._job(name)
        self._crm("resource.request_stop", name, about="was started", cause=cause, previous="started")
        yield
        self._lrm(node, "job.stopping", name, cause=self._job(name), timeout=None)
        yield
        yield
        self._lrm(node, "job.stopped", name, cause=self._job(name))
        self._done(name, node, "request_stop", 0)
        yield
        cause = self._job(name)
        self._crm("resource.stopped", name, about="was request_stop", cause=cause, previous="request_stop")
        self._emit("resource.configured", name, "operator", about="started", changes={"state": "started"})
        self._crm("resource.request_start", name, about="was stopped", previous="stopped")
        self._start(name, "request_start")
        yield
        self._run_start(name)
        yield
        self._confirm(name)
        self._busy.discard(name)

    def _quiet(self) -> Story:
        """The balancer says why it does nothing, and an agent what it is at."""
        node = self._random.choice(self.state.online_nodes())
        if self.state.balance.motion is None:
            reason = self._random.choice(["balanced", "under_margin", "no_candidate"])
            details = {"imbalance": self._random.random(), "best": self._alternatives(1), "excluded": []}
            self._crm("balance.refused", "balance", about=reason, reason=reason, details=details)
            if self._random.random() < 0.3:  # a series ends now and then
                number = self.state.balance.series + 1
                about = f"{number}, {reason}"
                self._crm("balance.series", "balance", about=about, number=number, reason=reason)
        yield
        self._lrm(node, "agent.reported", node, about="active, active", state="active", mode="active")

    def _failover(self) -> Story:
        old = self.state.leader or ""
        self._emit("manager.lost_manager_lock", old, f"{old}/crm", about="was master", previous="master")
        new = self._random.choice([node for node in self.state.online_nodes() if node != old])
        self._emit("lock.acquired", new, f"{new}/crm", about="ha_manager_lock", lock="ha_manager_lock")
        self._elect(new, "slave")
        self._crm("cluster.membership", "cluster", online=self.state.online_nodes(), left={})
        return
        yield

    def _node_lost(self) -> Story:
        """A node vanishes, is fenced, its resources are recovered elsewhere, and it comes back."""
        state = self.state
        others = [node for node in state.online_nodes() if node != state.leader]
        if len(others) < len(self._nodes) - 2:
            return
        node = self._random.choice(others)
        lost = [name for name in self._names if state.resources[name].node == node and self._is_up(name)]
        lost = [name for name in lost if name not in self._busy]
        self._busy.update(lost)
        online = [other for other in state.online_nodes() if other != node]
        self._crm("cluster.membership", "cluster", online=online, left={node: self._at})
        self._crm("node.unknown", node, about="was online", previous="online")
        yield
        yield
        self._crm("node.fence", node, about="was unknown", previous="unknown")
        self._crm("notification.sent", node, kind="FENCE", message="fencing_begins", node=node)
        for name in lost:
            self._crm("resource.fence", name, about="was started", cause=self._job(name), previous="started")
        yield
        yield
        self._crm("node.fenced", node)
        for name in lost:
            target = self._random.choice(state.online_nodes())
            self._crm("resource.recovery", name, about="was fence", cause=self._job(name), previous="fence")
            self._crm("resource.recovered", name, about=f"{node} to {target}", previous=node, node=target)
            self._start(name, "recovery")
        yield
        for name in lost:
            self._run_start(name)
        yield
        for name in lost:
            self._confirm(name)
        self._busy.difference_update(lost)
        self._crm("node.unknown", node, about="was fence", previous="fence")
        self._crm("node.online", node, about="was unknown", previous="unknown")
        self._crm("cluster.membership", "cluster", online=state.online_nodes(), left={})
