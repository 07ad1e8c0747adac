"""Does to a cluster what a story says, and takes it all back at the end."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from events.envelope import Event
from events.errors import LogUnavailable, UserError
from haes.drivers.process.client import ANSWER_LIMIT
from haes.live.requests import KEPT, KIND, send_request
from tests.cluster_simulator.server import SimulatedLog, at_once
from tests.cluster_simulator.story import Fault

if TYPE_CHECKING:
    from tests.cluster_simulator.cluster import Cluster


class Nemesis:
    """Whoever makes the faults.

    Attributes:
        written: requests that their writers were told are written: (user, id).
        excused: of those, the ones that a server lost together with its tail.
        disturbed: node -> when something happened to it that may lead to its fencing.
    """

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self.written: list[tuple[str, str]] = []
        self.excused: set[tuple[str, str]] = set()
        self.disturbed: dict[str, float] = {}
        # More than one damaged snapshot is more than a trimmed stream without an archive stands.
        self._damaged = False

    def do(self, fault: Fault) -> None:
        """Makes a fault happen now; one that does not apply comes to nothing."""
        self._cluster.say(str(fault).partition("s  ")[2], "nemesis")
        getattr(self, f"_{fault.kind}")(fault)

    def heal(self) -> None:
        """Takes back whatever still lasts."""
        cluster, server = self._cluster, self._cluster.server
        server.slowness = server.lose_request = server.lose_reply = 0.0
        server.full = False
        server.stuck_until = 0.0
        if not server.up:
            server.start()
        cluster.down.clear()
        for node, host in cluster.hosts.items():
            host.fail_starts = host.fail_moves = host.slow = host.stubborn = host.deaf = 0.0
            cluster.power_on(node)
        for member in cluster.members.values():
            member.link.cut = False
            self._loop.resume(member.process)
        cluster.start_all()
        self._disturb(*cluster.nodes, seconds=2 * ANSWER_LIMIT)

    def _disturb(self, *nodes: str, seconds: float = 0.0) -> None:
        for node in nodes:
            self.disturbed[node] = max(self.disturbed.get(node, 0.0), self._loop.time() + seconds)

    def _disturb_agent(self, fault: Fault) -> None:
        part, _, node = fault.who.partition(" ")
        if part == "agent":
            self._disturb(node, seconds=fault.seconds)

    def _later(self, seconds: float, act: object, *arguments: object) -> None:
        self._loop.call_later(seconds, act, *arguments, context=self._loop.world.context)  # type: ignore[arg-type]

    def _kill(self, fault: Fault) -> None:
        self._disturb_agent(fault)
        self._cluster.kill(fault.who)

    def _pause(self, fault: Fault) -> None:
        member = self._cluster.members.get(fault.who)
        if member is not None:
            self._disturb_agent(fault)
            self._loop.pause(member.process)
            self._later(fault.seconds, self._loop.resume, member.process)

    def _leave(self, fault: Fault) -> None:
        self._disturb_agent(fault)
        self._cluster.leave(fault.who)

    def _stay_down(self, fault: Fault) -> None:
        self._disturb_agent(fault)
        self._cluster.down.add(fault.who)
        if not self._cluster.leave(fault.who):
            return
        self._later(fault.seconds, self._come_back, fault.who)

    def _come_back(self, name: str) -> None:
        self._cluster.down.discard(name)
        self._cluster.start(name)

    def _reload(self, fault: Fault) -> None:
        self._cluster.use(round=self._cluster.pace * 10.0 * fault.value)

    def _slow(self, fault: Fault) -> None:
        self._disturb(*self._cluster.nodes, seconds=fault.seconds)
        self._set_server("slowness", fault)

    def _lose_requests(self, fault: Fault) -> None:
        self._disturb(*self._cluster.nodes, seconds=fault.seconds)
        self._set_server("lose_request", fault)

    def _lose_replies(self, fault: Fault) -> None:
        self._disturb(*self._cluster.nodes, seconds=fault.seconds)
        self._set_server("lose_reply", fault)

    def _set_server(self, name: str, fault: Fault) -> None:
        setattr(self._cluster.server, name, fault.value)
        self._later(fault.seconds, setattr, self._cluster.server, name, 0.0)

    def _set_host(self, name: str, fault: Fault) -> None:
        host = self._cluster.hosts[fault.who]
        setattr(host, name, fault.value)
        self._later(fault.seconds, setattr, host, name, 0.0)

    def _cut(self, fault: Fault) -> None:
        member = self._cluster.members.get(fault.who)
        if member is not None:
            self._disturb_agent(fault)
            member.link.cut = True
            self._later(fault.seconds, setattr, member.link, "cut", False)

    def _cut_node(self, fault: Fault) -> None:
        for part in ("manager", "agent"):
            self._cut(Fault(fault.at, "cut", f"{part} {fault.who}", seconds=fault.seconds))

    def _restart_server(self, fault: Fault) -> None:
        server = self._cluster.server
        self._disturb(*self._cluster.nodes, seconds=fault.seconds)
        if server.up:
            server.stop()
            self._later(fault.seconds, self._start_server)

    def _start_server(self, log: object = None) -> None:
        server = self._cluster.server
        if not server.up:
            server.start(log)  # type: ignore[arg-type]
            if log is not None:
                self._cluster.watch.begin_again()

    def _stick_server(self, fault: Fault) -> None:
        self._disturb(*self._cluster.nodes, seconds=fault.seconds)
        self._cluster.server.stuck_until = self._loop.time() + fault.seconds

    def _fail_over(self, fault: Fault) -> None:
        """A replica that hears of nothing more from now on takes over a little later."""
        self._disturb(*self._cluster.nodes, seconds=fault.value + fault.seconds)
        if self._cluster.server.up:
            self._later(fault.value, self._switch, self._cluster.server.replica(), fault.seconds)

    def _switch(self, replica: object, seconds: float) -> None:
        server = self._cluster.server
        if not server.up:
            return
        server.stop()
        self._cluster.say(f"the server fails over to one with {replica._head.n} events", "nemesis")  # type: ignore[attr-defined]
        n = replica._head.n  # type: ignore[attr-defined]
        known = received(self._cluster.watch.events[:n])
        kept = {asked for asked in self.written if asked in known or self._is_known(replica, *asked)}
        self.excused |= set(self.written) - kept
        self._later(seconds, self._start_server, replica)

    @staticmethod
    def _is_known(log: object, user: str, request: str) -> bool:
        entries = log.side._streams.get(f"{KIND}:{user}", [])  # type: ignore[attr-defined]
        return any(entry.id == request for entry in entries)

    def _fill_server(self, fault: Fault) -> None:
        self._disturb(*self._cluster.nodes, seconds=fault.seconds)
        self._cluster.server.full = True
        self._later(fault.seconds, setattr, self._cluster.server, "full", False)

    def _crash_keeper(self, fault: Fault) -> None:
        keeper = self._cluster.hosts[fault.who].keeper
        self._disturb(fault.who)
        if keeper is not None:
            keeper.vanish()

    def _power_off(self, fault: Fault) -> None:
        self._disturb(fault.who, seconds=fault.seconds)
        if self._cluster.hosts[fault.who].powered:
            self._cluster.power_off(fault.who)
            self._later(fault.seconds, self._cluster.power_on, fault.who)

    def _fail_starts(self, fault: Fault) -> None:
        self._set_host("fail_starts", fault)

    def _fail_moves(self, fault: Fault) -> None:
        self._set_host("fail_moves", fault)

    def _slow_jobs(self, fault: Fault) -> None:
        self._set_host("slow", fault)

    def _stubborn(self, fault: Fault) -> None:
        self._set_host("stubborn", fault)

    def _deaf_keeper(self, fault: Fault) -> None:
        # Whoever asked before the end waits for an answer for a while.
        self._disturb(fault.who, seconds=fault.seconds + 2 * ANSWER_LIMIT)
        self._set_host("deaf", fault)

    def _crash_service(self, fault: Fault) -> None:
        for host in list(self._cluster.truth.runs.get(fault.who, [])):
            keeper = self._cluster.hosts[host].keeper
            if keeper is not None:
                keeper.crash_service(fault.who)

    def _command(self, fault: Fault) -> None:
        user, verb, *arguments = fault.words
        self.ask(user, verb, *arguments)

    def ask(self, user: str, verb: str, *arguments: str) -> None:
        """Lets an operator ask for something, in a process of his own."""
        process, link = self._cluster.process(f"operator {user}")
        self._loop.create_task(self._ask(SimulatedLog(link), user, verb, arguments), context=process.context)

    async def _ask(self, log: SimulatedLog, user: str, verb: str, arguments: tuple[str, ...]) -> None:
        try:
            request = await send_request(log.side, user, verb, arguments)
        except LogUnavailable:
            return
        except UserError as error:
            self._cluster.say(f"refused at the door: {error}"[:100])
            return
        self.written.append((user, request))

    def _hostile(self, fault: Fault) -> None:
        """Writes past the door, as another client might."""
        user, verb, *arguments = fault.words
        fields = {"verb": verb, "arguments": json.dumps(arguments)}
        if self._cluster.server.up:
            request = at_once(self._cluster.server.log.side.add(f"{KIND}:{user}", fields, keep=KEPT))
            self.written.append((user, request))

    def _damage_snapshot(self, fault: Fault) -> None:
        log = self._cluster.server.log
        if self._damaged or len(log._snapshots) < 2:
            return
        self._damaged = True
        for n in list(log._snapshots)[-1:]:
            match fault.value:
                case 0:
                    del log._snapshots[n]
                case 1:
                    log._snapshots[n] = log._snapshots[n][:-20]
                case _:
                    log._snapshots[n] = b"\x00" + log._snapshots[n]

    def _trim(self, _fault: Fault) -> None:
        """Removes what every registered reader has and a snapshot stands for, as an archivist does."""
        server = self._cluster.server
        if not server.up:
            return
        log = server.log
        numbers = [] if self._damaged else at_once(log.snapshot_numbers())
        notes = [int(lease.note["n"]) for lease in log._leases.values() if lease.note.get("n", "").isdigit()]
        if len(numbers) > 1 and notes:
            at_once(log.trim(min(numbers[-2], *notes)))


def received(events: Iterable[Event]) -> Counter[tuple[str, str]]:
    """Returns the requests whose receipt is on the log, and how often: (user, id)."""
    return Counter(
        (event.payload["user"], event.payload["request"]) for event in events if event.type == "command.received"
    )
