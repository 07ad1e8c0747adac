"""A page on a cluster for tests: a real server process on a real log, written to by the test."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from events.log.port import EventLog, Token
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.state.restore import restore_state

CLUSTER = "paged"
TOKEN = "a-token-of-eve-that-nobody-guesses"  # noqa: S105 - of a server under test
# Seconds that anything may take on a busy machine.
LIMIT = 30.0
# A name that would be a tag, an end of script and a mark that turns text around, if anybody let it.
HOSTILE = "vm:<img src=x onerror=document.title='owned'>\u202e"


@dataclass
class Page:
    """A running server.

    Attributes:
        url: of the page.
        log: the log that it shows.
        token: the right to write there.
    """

    url: str
    log: EventLog
    token: Token

    async def write(self, *events: tuple[str, str, dict[str, Any]]) -> ClusterState:
        """Appends events: type, subject, payload."""
        state = await restore_state(self.log)
        batch = Batch(state.working_copy(), "node1/crm", state.at + 10)
        for type_, subject, payload in events:
            batch.emit(type_, subject, **payload)
        await self.log.append(batch.events, token=self.token)
        return await restore_state(self.log)

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        """Returns status, headers and text of an answer."""
        return self._send(urllib.request.Request(self.url + path, headers=headers))  # noqa: S310 - our own address

    def post(self, path: str, data: Any, **headers: str) -> tuple[int, dict[str, str], str]:
        """Sends JSON and returns status, headers and text of the answer."""
        given = {"content-type": "application/json", **headers}
        return self._send(urllib.request.Request(self.url + path, json.dumps(data).encode(), given))  # noqa: S310

    @staticmethod
    def _send(request: urllib.request.Request) -> tuple[int, dict[str, str], str]:
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:  # noqa: S310
                return answer.status, dict(answer.headers), answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read().decode()


async def fill(log: EventLog) -> Token:
    """Writes a small cluster with three nodes and two services, one of them with a hostile name."""
    token = await log.acquire("manager/node1", "test", ttl=None)
    batch = Batch(ClusterState(), "node1/crm", 1_700_000_000)
    batch.emit("cluster.created", "cluster", name=CLUSTER)
    for node in ("node1", "node2", "node3"):
        batch.emit("node.added", node)
        batch.emit("node.online", node, previous="unknown")
    for name in ("vm:1", HOSTILE):
        changes = {"node": "node1", "state": "started"}
        batch.emit("resource.configured", name, changes=changes)
        batch.emit("resource.added", name, node="node1", state="request_start")
    await log.append(batch.events, token=token)
    return token


@asynccontextmanager
async def page_on(log: EventLog, log_url: str, folder: Path, *, tokens: bool = True) -> AsyncIterator[Page]:
    """Runs `haes web` on a log."""
    token = await fill(log)
    options = ["--log", log_url, "--cluster", CLUSTER, "--listen", "127.0.0.1:0"]
    if tokens:
        file = folder / "tokens.toml"
        file.write_text(f'eve = "{TOKEN}"\n')
        file.chmod(0o600)
        options += ["--tokens", str(file)]
    with (folder / "web.log").open("w") as said:
        server = subprocess.Popen(  # noqa: ASYNC220 - it is asked by other threads
            [sys.executable, "-m", "haes.cli.main", "web", *options],
            stdout=subprocess.PIPE, stderr=said, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip().rstrip("/")
        assert url.startswith("http://127.0.0.1:"), (folder / "web.log").read_text()
        yield Page(url, log, token)
    finally:
        server.terminate()
        assert server.wait(LIMIT) == 0
        server.stdout.close()
