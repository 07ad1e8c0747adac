"""The page for auditors is true: its commands run, and what it says about hashes is all that is needed to check one."""

import hashlib
import hmac
import json
import shlex
from pathlib import Path

import pytest
from redis import Redis

from events.embedded import EmbeddedRedis
from events.log.redis import RedisLog
from haes.simulation.run import simulate
from tests.builders import cluster
from tests.cli.running import haes

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "audit.md"


@pytest.fixture
async def server(server: EmbeddedRedis) -> EmbeddedRedis:
    """Provides the server with a story on it, in a cluster that is called as on the page."""
    log = RedisLog(server.url, "demo")
    await log.open()
    await simulate(cluster({"vm:101": {"node": 1}}, rounds=4), log, lambda _event: None)
    await log.close()
    return server


def test_every_command_of_the_page_runs(server: EmbeddedRedis, tmp_path: Path) -> None:
    """Each redis-cli command is accepted by the server, and those about the stream find something."""
    haes("audit", "seal", "--log", server.url, "--cluster", "demo", "--anchor", f"file:{tmp_path / 'seals'}")
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("$ redis-cli ")]
    assert len(lines) >= 9
    with Redis(unix_socket_path=server.socket) as client:
        for line in lines:
            answer = client.execute_command(*shlex.split(line)[2:])
            if ":commands:" not in line and ":lease:" not in line:
                assert answer, line


@pytest.mark.parametrize("key", [None, b"an auditor's own secret"])
def test_a_seal_can_be_checked_by_the_page_alone(server: EmbeddedRedis, tmp_path: Path, key: bytes | None) -> None:
    """A check written from the page, without this program, comes to the same digest."""
    seals, words = tmp_path / "seals", []
    if key is not None:
        (tmp_path / "key").write_bytes(key)
        words = ["--key-file", tmp_path / "key"]
    haes("audit", "seal", "--log", server.url, "--cluster", "demo", "--anchor", f"file:{seals}", *words)
    [seal] = [json.loads(line) for line in seals.read_text().splitlines()]
    with Redis(unix_socket_path=server.socket) as client:
        client.set_response_callback("XRANGE", lambda response, **_: response)
        entries = client.execute_command("XRANGE", "haes:{demo}:events", "-", "+")
        log_id = client.hget("haes:{demo}:head", "log_id").decode()
    text = bytes(32) + f"{log_id} {seal['first']} {seal['last']}".encode()
    for entry_id, fields in entries:
        parts = [entry_id, *fields]
        text += hashlib.sha256(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).digest()
    digest = hashlib.sha256(text) if key is None else hmac.new(key, text, "sha256")
    assert digest.hexdigest() == seal["digest"]


def test_the_report_names_who_asked_what_and_what_failed(server: EmbeddedRedis) -> None:
    """Rows come as text, JSON lines and CSV; they can be cut at both ends, and no cell is a formula."""
    options = ("--log", server.url, "--cluster", "demo")
    rows = [json.loads(line) for line in haes("audit", "report", "--json", *options)[0].splitlines()]
    assert {"decided"} <= {row["kind"] for row in rows}
    assert any(row["type"] == "leader.elected" and row["who"] == "node1/crm" for row in rows)
    some = haes("audit", "report", "--json", "--from", str(rows[0]["n"]), "--until", str(rows[2]["n"]), *options)[0]
    assert [json.loads(line)["n"] for line in some.splitlines()] == [rows[1]["n"], rows[2]["n"]]
    table = haes("audit", "report", "--format", "csv", *options)[0].splitlines()
    assert table[0] == "n,at,kind,who,subject,type,text,because_of"
    assert len(table) == len(rows) + 1
    assert "decided" in haes("audit", "report", *options)[0]
