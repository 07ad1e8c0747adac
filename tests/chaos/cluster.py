"""A real cluster under test: its processes, its services, what befell them, and the invariants that must hold after."""

import asyncio
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from events.envelope import Event
from events.errors import LogUnavailable
from events.history import History
from events.log.port import FOREIGN, Head
from events.log.redis import RedisLog
from haes.drivers.process.keeper import clean
from haes.live.outcome import CommandWatch, Outcome, follow_command
from haes.live.replica import Replica
from haes.live.requests import send_request
from haes.state.cluster import ClusterState
from haes.state.fold import fold
from replay.verify import Report, verify

# Seconds of everything, far shorter than on real machines.
ROUND, AGENT_ROUND, LEADER_LEASE, AGENT_LEASE, FENCE_DELAY = 1.0, 0.5, 2.0, 3.0, 0.5
# Terms for tests in which nobody is to lose anything: however busy the machine is, a process that lives renews in time.
PATIENT = {"leader_lease": 15.0, "agent_lease": 30.0}
# Seconds within which things must come to rest after a fault. A guard and no bound of the product: on a machine whose
# cores are busy with something else everything takes several times as long.
REST_LIMIT = 90.0
# Seconds for a process to start, to answer a signal, to end: guards as well.
START_LIMIT, ANSWER_LIMIT, END_LIMIT = 60.0, 30.0, 30.0
# Seconds for one whole test: several of those one after the other.
TEST_LIMIT = 300
# Commands that tests follow to their effect; of the others they want the answer, and look for the effect themselves.
MOTIONS = frozenset({"migrate", "relocate", "stop"})

_FILE = """\
[cluster]
name = "chaos"
directory = "{directory}"

[intervals]
round = {round}
agent_round = {agent_round}
leader_lease = {leader_lease}
agent_lease = {agent_lease}
fence_delay = {fence_delay}
sample = 1
snapshot_events = 50
"""
# So little is kept that the stream of a few motions is cut.
_ARCHIVE = """\
[archive]
directory = "{folder}"
interval = 1
segment_events = 20
keep_events = 10
"""
# Takes a lock that only one process in the world may have, and notes it when somebody else has it.
_SERVICE = 'exec 9>>"$LOCK"; flock -n 9 || { echo "$HAES_SERVICE" >>"$DOUBLE"; exit 1; }; exec sleep 100000'


@dataclass
class LiveCluster:
    """The cluster.

    Attributes:
        folder: of everything.
        url: of the log.
        nodes: their names.
        services: service -> node on which it begins.
        urls: node -> URL by which its processes reach the log, where it is another one.
        settings: of the `crs` section.
        extra: service -> further lines of its table.
        leader_lease: seconds after which a dead leader is replaced.
        agent_lease: seconds after which a node that cannot reach the log loses its services.
        archive: where the leader keeps old events, None to let it keep everything in the stream.
    """

    folder: Path
    url: str
    nodes: Sequence[str] = ("node1", "node2", "node3")
    managers: Sequence[str] = ("node1", "node2")
    services: dict[str, str] = field(default_factory=lambda: {"process:a": "node1", "process:b": "node2"})
    urls: dict[str, str] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    leader_lease: float = LEADER_LEASE
    agent_lease: float = AGENT_LEASE
    archive: Path | None = None
    name: str = "chaos"
    environment: dict[str, dict[str, str]] = field(default_factory=dict)
    processes: dict[tuple[str, str], asyncio.subprocess.Process] = field(default_factory=dict)
    ears: dict[tuple[str, str], socket.socket] = field(default_factory=dict)

    @property
    def directory(self) -> Path:
        """Where the processes keep what is theirs."""
        return self.folder / "run"

    @property
    def double(self) -> Path:
        """Where services write that another one of them runs already."""
        return self.folder / "double"

    def write_file(self) -> Path:
        """Writes the cluster's file."""
        text = _FILE.format(
            directory=self.directory,
            round=ROUND,
            agent_round=AGENT_ROUND,
            leader_lease=self.leader_lease,
            agent_lease=self.agent_lease,
            fence_delay=FENCE_DELAY,
        )
        text += "".join(f'[nodes.{node}]\ncpus = 4\nmemory = "1 GiB"\n' for node in self.nodes)
        for service, node in self.services.items():
            lock = self.folder / f"{service.replace(':', '-')}.lock"
            text += f'[resources."{service}"]\nnode = "{node}"\ncommand = ["sh", "-c", {json.dumps(_SERVICE)}]\n'
            text += f'environment = {{ LOCK = "{lock}", DOUBLE = "{self.double}" }}\nstop_timeout = 5\n'
            text += self.extra.get(service, "")
        if self.archive is not None:
            text += _ARCHIVE.format(folder=self.archive)
        if self.settings:
            text += "[settings.crs]\n" + "".join(
                f"{key} = {json.dumps(value)}\n" for key, value in self.settings.items()
            )
        file = self.folder / "cluster.toml"
        file.write_text(text)
        return file

    async def start(self) -> None:
        """Starts all processes at the same instant."""
        self.write_file()
        await asyncio.gather(
            *(self.start_one("agent", node) for node in self.nodes),
            *(self.start_one("manager", node) for node in self.managers),
        )

    async def start_one(self, part: str, node: str) -> None:
        """Starts one process."""
        folder = self.directory / node
        folder.mkdir(parents=True, exist_ok=True)
        ear = f"\0haes-test-{secrets.token_hex(8)}"
        self.ears[part, node] = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.ears[part, node].bind(ear)
        apart = ("--apart",) if part == "manager" and node not in self.nodes else ()
        with (folder / f"{part}.log").open("ab") as said:
            self.processes[part, node] = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "haes.cli.main", part, node, "--config", str(self.folder / "cluster.toml")),
                *apart,
                *("--log", self.urls.get(node, self.url), "--cluster", self.name),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, "NOTIFY_SOCKET": ear.replace("\0", "@"), **self.environment.get(node, {})},
                start_new_session=True,
            )

    async def ready(self, part: str, node: str, seconds: float = START_LIMIT) -> None:
        """Waits until a process says that it is ready."""
        ear = self.ears.pop((part, node), None)
        if ear is not None:
            with ear:
                async with asyncio.timeout(seconds):
                    while await asyncio.get_running_loop().sock_recv(ear, 100) != b"READY=1":
                        pass

    def signal(self, part: str, node: str, number: signal.Signals) -> None:
        """Sends a signal to a process."""
        self.processes[part, node].send_signal(number)

    async def kill(self, part: str, node: str) -> None:
        """Kills a process."""
        process = self.processes.pop((part, node))
        self.ears.pop((part, node)).close() if (part, node) in self.ears else None
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    async def leave(self, part: str, node: str, seconds: float = END_LIMIT) -> int:
        """Asks a process to leave and returns its exit status."""
        await self.ready(part, node)
        process = self.processes.pop((part, node))
        process.terminate()
        return await asyncio.wait_for(process.wait(), seconds)

    async def destroy(self) -> None:
        """Ends everything, however it may be."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*(process.wait() for process in self.processes.values()))
        for ear in self.ears.values():
            ear.close()
        for node in self.nodes:
            await asyncio.to_thread(clean, self.directory / node)

    def log(self) -> RedisLog:
        """Returns the log, to be opened."""
        return RedisLog(self.url, self.name)

    async def state(self) -> ClusterState:
        """Returns what the log leads to right now."""
        return fold(await self.events())

    async def events(self) -> list[Event]:
        """Returns the whole stream."""
        log = self.log()
        await log.open()
        try:
            return [event async for event in History(log, self.archive, lenient=True).events()]
        finally:
            await log.close()

    async def head(self) -> Head:
        """Returns where the log ends."""
        log = self.log()
        await log.open()
        try:
            return await log.head()
        finally:
            await log.close()

    async def now(self) -> float:
        """Returns the present time of the log, by which everything on it is dated."""
        log = self.log()
        await log.open()
        try:
            return await log.now()
        finally:
            await log.close()

    async def until_trimmed(self, n: int, seconds: float = REST_LIMIT) -> None:
        """Waits until the stream does not have an event any more."""
        log = self.log()
        await log.open()
        try:
            async with asyncio.timeout(seconds):
                while await History(log).first_in_stream() <= n:
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(
                f"not within {seconds:g} s: event {n} is trimmed\n{self.describe(await self.state())}"
            ) from None
        finally:
            await log.close()

    async def until(
        self, holds: Callable[[ClusterState], bool], what: str, seconds: float = REST_LIMIT
    ) -> ClusterState:
        """Waits until the state is as it must be."""
        state = ClusterState()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    with suppress(LogUnavailable):
                        state = await self.state()
                        if holds(state):
                            return state
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"not within {seconds:g} s: {what}\n{self.describe(state)}") from None

    def describe(self, state: ClusterState) -> str:
        """Returns what helps to see why something did not happen."""
        lines = [f"{name}: {record}" for name, record in sorted(state.resources.items())]
        lines += [f"nodes {state.nodes}, agents {state.agents}, leader {state.leader}, parked {state.parked}"]
        for path in sorted(self.directory.glob("*/*.log")):
            if path.name in {"agent.log", "manager.log", "keeper.log"}:
                lines += [f"--- {path}", *path.read_text(errors="replace").splitlines()[-12:]]
        return "\n".join(lines)

    async def until_event(self, holds: Callable[[Event], bool], what: str, seconds: float = REST_LIMIT) -> Event:
        """Waits until there is an event as it must be, and returns the first one."""
        found: list[Event] = []
        try:
            async with asyncio.timeout(seconds):
                while not found:
                    with suppress(LogUnavailable):
                        found = [event for event in await self.events() if holds(event)]
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"not within {seconds:g} s: {what}\n{self.describe(await self.state())}") from None
        return found[0]

    async def settle(self, seconds: float = REST_LIMIT) -> ClusterState:
        """Waits until every service that is to run does, nothing is on its way, and every agent's node can be used."""
        agents = [node for part, node in self.processes if part == "agent"]
        return await self.until(
            lambda state: self.at_rest(state) and all(state.nodes.get(node) == "online" for node in agents),
            "every service runs, every node is online",
            seconds,
        )

    def at_rest(self, state: ClusterState) -> bool:
        """Returns whether every configured service runs where it is thought to be."""
        wanted = [name for name, item in state.configurations.items() if item.state == "started"]
        return all(
            name in state.resources and state.resources[name].state == "started" and state.resources[name].running
            for name in wanted
        ) and bool(wanted)

    async def command(self, verb: str, *arguments: str, user: str = "tester", seconds: float = REST_LIMIT) -> Outcome:
        """Asks the leader for something and waits for its outcome."""
        log = self.log()
        await log.open()
        try:
            # The watch knows its request only once that is written; what comes before is of no interest.
            replica = Replica(log)
            await replica.open()
            watch = CommandWatch(user, await send_request(log.side, user, verb, arguments), steady=0)
            replica.on_event = watch.see
            outcome = await follow_command(replica, watch, seconds, to_the_end=verb in MOTIONS)
        finally:
            await log.close()
        assert outcome is not None, f"no outcome of {verb} {arguments}"
        return outcome

    async def verify(self) -> Report:
        """Returns what verifying the stream shows."""
        log = self.log()
        await log.open()
        try:
            return await verify(History(log, self.archive))
        finally:
            await log.close()

    async def believed(self, part: str, node: str) -> dict[str, object]:
        """Returns the state that a process believes in."""
        await self.ready(part, node)
        file = self.directory / node / f"{part}.state"
        file.unlink(missing_ok=True)
        self.signal(part, node, signal.SIGUSR1)
        async with asyncio.timeout(ANSWER_LIMIT):
            while not file.exists():
                await asyncio.sleep(0.05)
        data: dict[str, object] = json.loads(file.read_text())
        return data

    async def check_invariants(self, *, allowed: Sequence[str] = ()) -> list[Event]:
        """Checks everything that must hold after whatever happened; returns the stream.

        Args:
            allowed: checks of `verify` that may have findings, because the test injected such a fault.
        """
        events = await self.events()
        numbers = [event.n for event in events if event.type != FOREIGN]
        assert numbers == list(range(1, len(numbers) + 1)), "numbers are not contiguous"
        assert not self.double.exists(), f"a service ran twice: {self.double.read_text()}"
        state = fold(events)
        assert state.balance.motion is None or not state.balance.motion.open_members(), "a motion has no end"
        _check_epochs(events)
        _check_running_periods(events)
        found = [finding for finding in (await self.verify()).findings if finding.check not in allowed]
        assert not found, found
        for part, node in self.processes:
            believed = await self.believed(part, node)
            known = await self.events()
            n = believed["n"]
            assert isinstance(n, int)
            told = json.loads(json.dumps(fold([event for event in known if event.n <= n]).to_data()))
            assert told == believed, f"{part} of {node} believes something else than the log says up to {n}"
        return events


def _check_epochs(events: Sequence[Event]) -> None:
    """Agents' epochs never fall; what is decided bears the epoch of the leader that was elected last."""
    highest: dict[str, int] = {}
    leader = 0
    for event in events:
        if event.type == "leader.elected":
            assert event.epoch > leader, f"a leader was elected at {event.n} with an old epoch"
            leader = event.epoch
        if event.by.endswith("/lrm"):
            assert event.epoch >= highest.get(event.by, 0), f"epoch of {event.by} fell at {event.n}"
            highest[event.by] = event.epoch
        elif (
            leader
            and event.by.endswith("/crm")
            and event.type.startswith(("resource.", "node.", "balance.", "command."))
        ):
            assert event.epoch == leader, (
                f"{event.by} decided at {event.n} with epoch {event.epoch}, the leader's is {leader}"
            )


def _check_running_periods(events: Sequence[Event]) -> None:
    """No service may be said to run on a second node before its first one said that it stopped, or was fenced."""
    where: dict[str, str] = {}
    for event in events:
        node = event.by.partition("/")[0]
        if event.type == "job.running":
            before = where.get(event.subject)
            assert before in {None, node}, f"{event.subject} runs on {before} and, since {event.n}, on {node}"
            where[event.subject] = node
        elif event.type in {"job.stopped", "job.moved", "resource.stray_stopped", "resource.recovery"}:
            where.pop(event.subject, None)
        elif event.type == "node.watchdog_fired":
            for service in event.payload["killed"]:
                if where.get(service) == event.subject:
                    del where[service]
        elif event.type in {"node.fenced", "agent.connected"}:
            running = event.payload.get("running", ())
            for service in [name for name, there in where.items() if there == event.subject and name not in running]:
                del where[service]
