"""A cluster that begins and ends as it should says nothing that would worry anybody, and nothing twice in a row."""

import asyncio
import sys
from itertools import pairwise
from pathlib import Path

FILE = """\
[cluster]
name = "quiet"
directory = "run"
[intervals]
round = 0.5
agent_round = 0.5
sample = 1
[nodes.node1]
cpus = 2
memory = "1 GiB"
[nodes.node2]
[settings.crs]
ha = "dynamic"
[resources."process:a"]
node = "node1"
command = "sleep 1000"
[resources."process:b"]
node = "node2"
command = "sleep 1000"
"""
# Seconds for everything to run, on a busy machine, and for everything to end.
LIMIT = 60.0


async def test_a_clean_start_and_a_clean_end_warn_of_nothing(tmp_path: Path) -> None:
    """From the first process to the last there is no warning, neither of missing loads nor of processes that end."""
    (tmp_path / "cluster.toml").write_text(FILE)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "haes.cli.main", "up", "cluster.toml"),
        cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines: list[str] = []
    try:
        async with asyncio.timeout(LIMIT):
            left = {"service status process:a started", "service status process:b started"}
            while left:
                lines.append((await process.stdout.readline()).decode())
                left = {words for words in left if words not in lines[-1]}
            process.stdin.write(b"quit\n")
            lines += (await process.stdout.read()).decode().splitlines()
            assert await process.wait() == 0, lines
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    assert not [line for line in lines if "warn" in line.lower() or " err" in line.lower()], lines
    assert not [line for line, following in pairwise(lines) if line[26:] and line[26:] == following[26:]], lines
