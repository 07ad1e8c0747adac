"""What users and programs wrote reaches a terminal without anything that steers it, whichever command shows it."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from events.embedded import EmbeddedRedis
from events.log.redis import RedisLog
from events.readers import Registration
from haes.cli.commands import COMMANDS
from haes.cli.main import main
from haes.cli.show import Output
from haes.cli.terminal import clean, clean_streams, one_line
from haes.live.process import configure_logs
from haes.live.requests import KIND, SET_ASIDE
from haes.state.batch import Batch
from haes.state.restore import restore_state

CLUSTER = "hostile"
# Colours, the end of a title, a mark that turns letters around, a line of its own, and rich's own markup.
EVIL = "x\x1b[31mRED\x9b2J\x07\u202eLIVE\u2066\r\nFORGED [/bold] :warning:\x7f"
NAME = f"process:{EVIL}"


def _is_harmless(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    """Whatever a text holds, what comes out shows, on as many lines as are meant, and stays so when cleaned again."""
    shown, line = clean(text), one_line(text)
    assert all(character.isprintable() or character in "\n\t\u00a0" or character.isspace() for character in shown)
    assert not {*line} & {*"\n\r\t\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\x1b\x9b\u202e"}
    assert (clean(shown), one_line(line)) == (shown, line)
    shown.encode()


def test_what_is_usual_is_shown_as_it_is() -> None:
    """Letters of any script, signs and spaces are nobody's weapon."""
    usual = "Grüße, 世界 → 50 %\u00a0… 🙂 عربي"
    assert clean(usual) == one_line(usual) == usual
    assert one_line("a\x1b[2J\u202e\n\tb\udcff") == r"a\x1b[2J\u202e\n\tb\udcff"


def test_colours_are_the_programs_own() -> None:
    """A console may colour what it shows; what is shown cannot."""
    file = io.StringIO()
    console = Output(file=file, force_terminal=True, color_system="standard", width=100)
    console.print(Text(EVIL, style="red"))
    said = file.getvalue()
    assert said.startswith("\x1b[31m")
    assert _is_harmless(said.replace("\x1b[31m", "").replace("\x1b[0m", ""))


def test_logs_on_standard_error_are_cleaned(capsys: pytest.CaptureFixture[str]) -> None:
    """What a process says of itself quotes what others wrote, too."""
    with clean_streams():
        configure_logs("text", verbose=False)
        logging.getLogger("test").warning("%s failed its check", NAME)
    said = capsys.readouterr().err
    assert _is_harmless(said)
    assert r"\x1b[31mRED" in said


def _events() -> Batch:
    batch = Batch(None, f"{EVIL}/crm", 1_800_000_000)

    def emit(type_: str, subject: str, **payload: Any) -> None:
        batch.emit(type_, subject, about=EVIL, cause="command/1", **payload)

    emit("cluster.created", "cluster", name=CLUSTER)
    emit("node.added", EVIL)
    emit("node.added", "node1")
    emit("leader.elected", "cluster", node=EVIL)
    emit("node.online", EVIL, previous="unknown")
    emit("settings.changed", "settings", settings={"crs": {"ha": EVIL}})
    emit("rules.changed", "rules", text=f"node-affinity: {EVIL}\n\tresources {EVIL}\n")
    emit("resource.configured", NAME, changes={"node": "node1", "state": EVIL, "lock": EVIL})
    emit("resource.added", NAME, node=EVIL, state="request_start")
    emit("resource.started", NAME, previous="request_start", node=EVIL)
    emit("resource.start_failed", NAME, exit_code=1, plan="give_up", node=EVIL, failed_nodes=[EVIL])
    emit("resource.error", NAME, previous="started")
    emit("resource.state_unknown", NAME, state=EVIL)
    emit("command.received", "commands", id=1, verb=EVIL, arguments=[EVIL], text=EVIL, user=EVIL, request="1-1")
    emit("command.rejected", "commands", id=1, reason="not_allowed", text=EVIL, details={"problem": EVIL})
    emit("balance.refused", "balance", reason=EVIL, details={EVIL: EVIL, "excluded": [{"reason": EVIL}]})
    emit("job.kind_unknown", NAME, kind=EVIL)
    emit("job.locked", NAME, lock=EVIL, task=EVIL)
    emit("agent.leaving", EVIL, plan="wait_for_maintenance", policy=EVIL, kind=EVIL)
    emit("manager.round_failed", EVIL, error=EVIL)
    emit("simulation.command", "cluster", command=EVIL)
    # Not allowed from here: it parks its subject with a reason.
    emit("resource.freeze", NAME, previous=EVIL, node=EVIL)
    return batch


async def _write(url: str) -> None:
    log = RedisLog(url, CLUSTER)
    await log.open()
    try:
        token = await log.acquire("leader", f"{EVIL}/crm@{EVIL}", ttl=3600)
        await log.append(_events().events, token=token)
        await log.side.add(f"{KIND}:{EVIL}", {"verb": EVIL, "arguments": json.dumps([EVIL])}, keep=10)
        await log.side.add(SET_ASIDE, {"user": EVIL, "request": "1-1", "problem": EVIL}, keep=10)
        reader = Registration(log, "slow", EVIL)
        await reader.begin()
        assert (await restore_state(log, lenient=True)).parked
    finally:
        await log.close()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Provides the options of a log in which everything that can be hostile is."""
    with asyncio.Runner() as runner:
        server = EmbeddedRedis(tmp_path_factory.mktemp("hostile") / "data")
        runner.run(server.start())
        try:
            runner.run(_write(server.url))
            yield ("--log", server.url, "--cluster", CLUSTER)
        finally:
            runner.run(server.stop())


# Of every command what shows, or answers with, something that somebody else wrote. `+` stands for the log's options.
CALLS: dict[str, list[list[str]]] = {
    "up": [["up", EVIL]],
    "manager": [["manager", EVIL, "--config", EVIL]],
    "agent": [["agent", EVIL, "--config", EVIL]],
    "status": [["status", "+"], ["status", "--check", "+"], ["status", "--json", "+"]],
    "events": [["events", "+"], ["events", "--json", "+"], ["events", "--reader", EVIL, "+"]],
    "commands": [["commands", "+"], ["commands", "withdraw", EVIL, "+"]],
    "logs": [["logs", EVIL, "+"], ["logs", NAME, "+"]],
    "web": [["web", EVIL, "+"]],
    "readers": [["readers", "+"], ["readers", "forget", EVIL, "+"]],
    "add": [["add", EVIL, f"node={EVIL}", "--wait-limit", "0.1", "+"], ["add", NAME, EVIL, "+"]],
    "set": [["set", NAME, f"state={EVIL}", "--no-wait", "+"]],
    "remove": [["remove", EVIL, "--no-wait", "+"]],
    "migrate": [["migrate", NAME, EVIL, "--wait-limit", "0.1", "+"]],
    "relocate": [["relocate", EVIL, EVIL, "--wait-limit", "0.1", "+"]],
    "start": [["start", EVIL, "--wait-limit", "0.1", "+"]],
    "retry": [["retry", EVIL, "--no-wait", "+"]],
    "stop": [["stop", EVIL, "--timeout", EVIL, "+"]],
    "maintenance": [["maintenance", "on", EVIL, "--wait-limit", "0.1", "+"], ["maintenance", EVIL, "node1", "+"]],
    "node": [["node", "remove", EVIL, "--wait-limit", "0.1", "+"]],
    "disarm": [["disarm", "--mode", EVIL, "+"]],
    "arm": [["arm", EVIL, "+"]],
    "settings": [
        ["settings", "show", "+"],
        ["settings", "set", EVIL, "+"],
        ["settings", "unset", EVIL, "--no-wait", "+"],
    ],
    "parked": [["parked", "list", "+"], ["parked", "skip", EVIL, "+"], ["parked", "retry", NAME, "+"]],
    "config": [["config", "check", EVIL]],
    "import": [["import", EVIL]],
    "simulate": [["simulate", EVIL]],
    "replay": [
        ["replay", "+"],
        ["replay", "--from", "0", "+"],
        ["replay", "--at", EVIL, "+"],
        ["replay", "--step", "+"],
    ],
    "diff": [["diff", "1", "+"], ["diff", EVIL, "+"]],
    "bisect": [["bisect", "count(resources, true) > 0", "+"], ["bisect", EVIL, "+"]],
    "explain": [["explain", NAME, "+"], ["explain", EVIL, "+"], ["explain", "--quiet-since", "1", "+"]],
    "whatif": [["whatif", "--set", EVIL, "+"]],
    "verify": [["verify", "+"]],
    "rules": [["rules", "show", "+"], ["rules", "check", EVIL, "--nodes", "node1"]],
    "fence": [["fence", "check", EVIL, "--nodes", "node1"]],
    "rebalance": [
        ["rebalance", "status", "+"],
        ["rebalance", "advise", "--wait-limit", "0.1", "+"],
        ["rebalance", "retry", EVIL, "+"],
    ],
    "plan": [["plan", EVIL]],
    "demo": [["demo", EVIL]],
    "archive": [["archive", "list", EVIL, "+"]],
    "audit": [["audit", "report", "+"], ["audit", "report", "--format", "csv", "+"], ["audit", "seal", "--check", "+"]],
    "log": [["log", "show", "+"], ["log", EVIL, "+"]],
    "acl": [["acl", EVIL], ["acl", "operator", "--user", EVIL]],
}


def test_no_command_is_left_out() -> None:
    """Whoever adds a command says here how it shows what others wrote."""
    assert set(CALLS) == set(COMMANDS)


@pytest.mark.parametrize("words", [words for calls in CALLS.values() for words in calls], ids=lambda words: words[0])
def test_no_command_lets_anything_through(
    words: list[str],
    log: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A hostile stream, hostile requests and hostile arguments come out as visible escapes, on nobody else's lines."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{len(_events().events)}\n"))
    main([part for word in words for part in (log if word == "+" else (word,))])
    said = capsys.readouterr()
    for channel in (said.out.replace("\r\n", "\n") if "csv" in words else said.out, said.err):
        assert _is_harmless(channel), ascii(channel)
        # Rules are lines that somebody wrote, and are shown as such.
        if words[:2] != ["rules", "show"]:
            assert not [line for line in channel.splitlines() if line.startswith("FORGED")], channel
    assert said.out + said.err
