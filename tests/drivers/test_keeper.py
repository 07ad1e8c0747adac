"""The keeper of a node, with real processes: what it starts, what it kills and when, and whom it obeys."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from events.log.port import Token
from haes.clock import boottime
from haes.drivers.process.client import KeeperClient, KeeperRefused
from haes.drivers.process.definition import ServiceDefinition
from haes.drivers.process.keeper import clean
from haes.drivers.process.node import ProcessNode
from haes.drivers.process.output import FILE_LIMIT, READ_SIZE

LIMIT = 10.0
TOKEN = Token(1, "agent/node1", 1, "a")
# Forks twice and leaves its session, as daemons do, then waits for ever.
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
time.sleep(1000)
"""


class Node:
    """A node under test: its driver, and the definitions of its services."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.definitions: dict[str, ServiceDefinition] = {}
        self.client = KeeperClient(folder, "node1")
        self.driver = ProcessNode(self.client, folder, self.definitions.get)
        self.facts: list[str] = []
        self.driver.use(TOKEN)
        self.driver.feed(boottime() + 1000)

    def run(self, name: str, *command: str, **values: object) -> int:
        """Starts a service and returns its process id."""
        self.definitions[name] = ServiceDefinition(command, **values)  # type: ignore[arg-type]
        self.driver.start(name, self.emit)
        return int(self.client.ask("status")["services"].get(name, {"pid": 0})["pid"])

    def emit(self, type_: str, **_payload: object) -> None:
        """Takes a fact."""
        self.facts.append(type_)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """Provides a node in a folder whose path is longer than a socket's may be."""
    folder = tmp_path / ("a-long-name-" * 10)
    folder.mkdir()
    try:
        yield Node(folder)
    finally:
        clean(folder)


def _until(holds: Callable[[], object], what: str) -> None:
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, f"not within {LIMIT} s: {what}"
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_service_runs_until_it_is_stopped(node: Node) -> None:
    """A service is started once, stops on SIGTERM, and its output is kept."""
    pid = node.run("process:a", "sh", "-c", "echo hello; exec sleep 1000")
    node.driver.start("process:a", node.emit)
    assert node.run("process:a", "sleep", "1000") == pid
    assert node.driver.services() == {"process:a": True}
    node.driver.stop("process:a", None, node.emit)
    assert not node.driver.running("process:a")
    assert not _lives(pid)
    assert (node.folder / "process-a.log").read_text() == "hello\n"


def test_a_service_that_does_not_stop_is_killed(node: Node) -> None:
    """After its time is over a service that ignores SIGTERM is killed with everything of it."""
    pid = node.run("process:a", "sh", "-c", "trap '' TERM; while :; do sleep 0.05; done")
    node.driver.stop("process:a", 1, node.emit)
    assert not _lives(pid)


def test_what_a_service_left_behind_ends_with_it(node: Node, tmp_path: Path) -> None:
    """A daemon that forked away from its session is found and killed as well."""
    file = tmp_path / "daemon"
    node.run("process:a", sys.executable, "-c", DAEMON, str(file))
    _until(file.exists, "the daemon is there")
    _until(file.read_text, "it said its id")
    daemon = int(file.read_text())
    assert _lives(daemon)
    node.driver.stop("process:a", 1, node.emit)
    assert not _lives(daemon)


def test_services_die_when_nobody_feeds_but_those_that_are_kept(node: Node) -> None:
    """At the deadline everything ends at once, except what is to be kept; what was killed is told once."""
    doomed, kept = node.run("process:a", "sleep", "1000"), node.run("process:b", "sleep", "1000", keep=True)
    node.driver.feed(boottime() + 0.3)
    begun = time.monotonic()
    _until(lambda: not _lives(doomed), "it is killed")
    assert time.monotonic() - begun < 1.3
    assert _lives(kept)
    assert node.driver.fired() == ("process:a",)
    assert node.driver.fired() is None
    with pytest.raises(KeeperRefused, match="before the keeper is fed"):
        node.client.act(
            "start",
            resource="process:c",
            command=["true"],
            environment={},
            directory="/",
            output="/dev/null",
            keep=False,
        )


def test_a_deadline_does_not_need_an_agent_that_runs(node: Node, tmp_path: Path) -> None:
    """The client's process is frozen past the deadline, and the services are killed all the same."""
    program = (
        "import sys, time, os\n"
        "from pathlib import Path\n"
        "from events.log.port import Token\n"
        "from haes.drivers.process.client import KeeperClient\n"
        "from haes.clock import boottime\n"
        "client = KeeperClient(Path(sys.argv[1]), 'node1')\n"
        "client.use(Token(1, 'agent/node1', 2, 'b'))\n"
        "while True:\n"
        "    client.act('feed', deadline=boottime() + 0.5)\n"
        "    Path(sys.argv[2]).write_text('fed')\n"
        "    time.sleep(0.05)\n"
    )
    pid = node.run("process:a", "sleep", "1000")
    fed = tmp_path / "fed"
    agent = subprocess.Popen([sys.executable, "-c", program, node.folder, fed])
    try:
        _until(fed.exists, "it feeds")
        time.sleep(0.6)
        assert _lives(pid)
        agent.send_signal(signal.SIGSTOP)
        _until(lambda: not _lives(pid), "it is killed")
    finally:
        agent.kill()
        agent.wait()


def test_services_outlive_the_agent_and_are_found_by_the_next(node: Node) -> None:
    """Another client of the same folder, with a newer right, finds the services running."""
    pid = node.run("process:a", "sleep", "1000")
    successor = KeeperClient(node.folder, "node1")
    successor.use(Token(1, "agent/node1", 2, "b"))
    assert successor.ask("status")["services"]["process:a"]["pid"] == pid
    successor.act("disarm")
    with pytest.raises(KeeperRefused, match="token 1/1 "):
        node.driver.feed(boottime() + 1000)


@pytest.mark.parametrize("token", [Token(1, "x", 1, "other"), Token(1, "x", 0, "a"), Token(0, "x", 9, "a")])
def test_older_rights_are_refused(node: Node, token: Token) -> None:
    """A lower generation or epoch, or an equal one of somebody else, may do nothing; looking is free."""
    node.driver.feed(boottime() + 1000)
    other = KeeperClient(node.folder, "node1")
    other.use(token)
    with pytest.raises(KeeperRefused, match="is not good"):
        other.act("kill", resources=[])
    assert other.ask("status")["node"] == "node1"


def test_a_killed_keeper_leaves_nothing_running(node: Node, tmp_path: Path) -> None:
    """Services die with their keeper; what forked away is killed by the next one before it serves anybody."""
    file = tmp_path / "daemon"
    pid = node.run("process:a", sys.executable, "-c", DAEMON, str(file))
    _until(lambda: file.exists() and file.read_text(), "the daemon is there")
    daemon = int(file.read_text())
    keeper = node.client.ask("status")["pid"]
    os.kill(keeper, signal.SIGKILL)
    _until(lambda: not _lives(pid), "the service died with it")
    assert node.client.ask("status")["pid"] != keeper
    assert not _lives(daemon)
    assert node.driver.fired() == ("process:a",)


def test_there_is_one_keeper(node: Node) -> None:
    """A second keeper of the same folder leaves at once."""
    words = [sys.executable, "-m", "haes.drivers.process.keeper", "--directory", str(node.folder), "--node", "node1"]
    assert subprocess.run(words, timeout=LIMIT, check=False).returncode == 0
    assert node.driver.services() == {}


def test_a_keeper_closes_its_hardware_watchdog_on_purpose(tmp_path: Path) -> None:
    """A keeper with a hardware watchdog pings it, stays although nobody needs it, and says goodbye when it is told to."""
    device = tmp_path / "watchdog"
    device.touch()
    keeper = _keeper_process(tmp_path, "--idle-limit", "0.1", "--hardware-watchdog", str(device))
    try:
        _until(lambda: device.read_bytes().count(b"\0") > 1, "it is pinged")
        assert keeper.poll() is None
        keeper.terminate()
        assert keeper.wait(LIMIT) == 0
        assert device.read_bytes().endswith(b"V")
    finally:
        keeper.kill()
        keeper.wait()
        clean(tmp_path)


def test_a_command_that_cannot_be_run_is_refused(node: Node) -> None:
    """A program that does not exist, or a folder that does not, starts nothing."""
    node.definitions["process:a"] = ServiceDefinition(("/no/such/program",))
    node.driver.start("process:a", node.emit)
    assert not node.driver.running("process:a")
    (end,) = node.driver.ends()
    assert (end.because or "").startswith("'/no/such/program' cannot be run (")


def test_a_service_that_fails_its_check_twice_is_killed(node: Node, tmp_path: Path) -> None:
    """One bad answer is forgiven; after the second the service ends, to be started again."""
    well = tmp_path / "well"
    well.touch()
    check = ("test", "-e", str(well))
    pid = node.run("process:a", "sleep", "1000", check=check, check_interval=0.0)
    node.driver.check()
    assert node.driver.services() == {"process:a": True}
    well.unlink()
    node.driver.check()
    assert node.driver.services() == {"process:a": False}
    assert _lives(pid)
    node.driver.check()
    assert not _lives(pid)
    (end,) = node.driver.ends()
    assert end.because == "its check failed 2 times in a row"


def test_an_end_is_told_until_it_is_on_record(node: Node) -> None:
    """Exit status or signal, how long it ran, and its last lines; a stop that was asked for is no such end."""
    definition = {"environment": {"DB_KEY": "swordfish"}}
    node.run("process:a", "sh", "-c", "echo swordfish; kill -9 $$", **definition)
    node.run("process:b", "sleep", "1000")
    _until(node.driver.ends, "it ended")
    (end,) = node.driver.ends()
    assert (end.resource, end.exit_code, end.signal, end.lines) == ("process:a", None, "SIGKILL", ("***",))
    node.driver.stop("process:b", None, node.emit)
    assert [known.run for known in node.driver.ends()] == [end.run]
    node.driver.forget_ends([end.run])
    assert not node.driver.ends()


def test_ends_outlive_the_keeper(node: Node) -> None:
    """What nobody has recorded yet is not lost when the keeper is killed."""
    node.run("process:a", "sh", "-c", "exit 5")
    _until(node.driver.ends, "it ended")
    os.kill(node.client.ask("status")["pid"], signal.SIGKILL)
    (end,) = node.driver.ends()
    assert end.exit_code == 5


def test_a_service_that_prints_without_end_fills_no_disk(node: Node) -> None:
    """Two files of bounded size, what is left out is counted, and the keeper still answers and stops it in time."""
    node.run("process:a", "sh", "-c", "yes 0123456789012345678901234567890123456789012345678901234567890123456789")
    time.sleep(1.5)
    begun = time.monotonic()
    node.client.ask("status")
    assert time.monotonic() - begun < 0.5
    sizes = [path.stat().st_size for path in node.folder.glob("process-a.log*")]
    assert sum(sizes) <= 2 * (FILE_LIMIT + READ_SIZE)
    assert sum(sizes) > FILE_LIMIT
    node.driver.stop("process:a", 1, node.emit)
    assert b"bytes were left out" in (node.folder / "process-a.log").read_bytes()[-100:]


def test_moving_stops_here_and_says_so(node: Node) -> None:
    """A process cannot move while it runs: it is stopped, and the facts say in which order."""
    pid = node.run("process:a", "sleep", "1000")
    assert node.driver.move("process:a", "node2", node.emit, live=True)
    assert node.facts == ["job.live_refused", "job.moving", "job.stopping", "job.stopped", "job.moved"]
    assert not _lives(pid)


def test_many_services_start_and_end_in_time(node: Node) -> None:
    """Fifty services are killed at once, within the time that a fencing delay allows."""
    pids = []
    for number in range(50):
        node.client.act(
            "start",
            resource=f"process:{number}",
            command=["sleep", "1000"],
            environment={},
            directory="/",
            output="/dev/null",
            keep=False,
        )
    pids = [item["pid"] for item in node.client.ask("status")["services"].values()]
    assert len(pids) == 50
    begun = time.monotonic()
    node.driver.kill([f"process:{number}" for number in range(50)])
    assert not any(map(_lives, pids))
    assert time.monotonic() - begun < 5.0


def test_the_load_of_services_is_measured(node: Node) -> None:
    """A busy service uses about a core, an idle one nothing; both use memory."""
    node.run("process:busy", sys.executable, "-c", "while True: pass")
    node.run("process:idle", "sleep", "1000")
    node.driver.loads()
    time.sleep(0.5)
    loads = node.driver.loads()
    assert loads["process:busy"][0] > 0.2
    assert loads["process:idle"][0] < 0.1
    assert all(memory > 0 for _, memory in loads.values())


def _keeper_process(folder: Path, *options: str) -> "subprocess.Popen[bytes]":
    """Starts a keeper as its client does, and waits until it answers."""
    words = [sys.executable, "-m", "haes.drivers.process.keeper", "--directory", str(folder), "--node", "node1"]
    process = subprocess.Popen([*words, *options])
    _until((folder / "keeper.sock").exists, "it is there")
    return process


def test_an_idle_keeper_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """SIGTERM ends a keeper that has nothing to keep at once; the next one knows what it knew."""
    keeper = _keeper_process(tmp_path)
    try:
        client = KeeperClient(tmp_path, "node1")
        client.use(TOKEN)
        client.act("feed", deadline=boottime() + 1000)
        begun = time.monotonic()
        keeper.terminate()
        assert keeper.wait(LIMIT) == 0
        assert time.monotonic() - begun < 1.0
        assert client.newest() == TOKEN.right
        assert client.ask("status")["pid"] != keeper.pid
    finally:
        keeper.kill()
        keeper.wait()
        clean(tmp_path)


def test_a_keeper_with_services_does_not_end(node: Node) -> None:
    """Whoever tells a keeper to end while services run is not obeyed: they would run on with nobody to kill them."""
    pid = node.run("process:a", "sleep", "1000")
    keeper = node.client.ask("status")["pid"]
    os.kill(keeper, signal.SIGTERM)
    time.sleep(0.2)
    assert node.client.ask("status")["pid"] == keeper
    assert _lives(pid)


def test_a_keeper_that_nobody_needs_ends_by_itself(tmp_path: Path) -> None:
    """With nothing to keep and nobody who asks for anything a keeper ends; with a service it stays."""
    keeper = _keeper_process(tmp_path, "--idle-limit", "0.5")
    try:
        client = KeeperClient(tmp_path, "node1")
        driver = ProcessNode(client, tmp_path, {"process:a": ServiceDefinition(("sleep", "1.5"))}.get)
        driver.use(TOKEN)
        driver.feed(boottime() + 1000)
        driver.start("process:a", lambda *_, **__: None)
        begun = time.monotonic()
        assert keeper.wait(LIMIT) == 0
        assert time.monotonic() - begun > 1.0
    finally:
        keeper.kill()
        keeper.wait()
        clean(tmp_path)
