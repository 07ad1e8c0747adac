"""What the README lets a reader type works as it is written."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import LIMIT, haes

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.skipif(shutil.which("redis-cli") is None, reason="no redis-cli is here: apt-get install redis-tools")
def test_the_stream_can_be_read_with_redis_cli_alone(tmp_path: Path) -> None:
    """While the first command of the section is open, the second shows the entry that the README shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("nothing but redis-cli")[2]
    programs = Path(sys.executable).parent
    keeper, reader = (
        [str(programs / Path(word).name) if word.startswith(".venv/bin/") else word for word in shlex.split(line)]
        for line in re.findall(r"^    (?:\$ )?((?:\.venv/bin/|redis-cli).*)$", text, re.MULTILINE)
    )
    shown = dict(re.findall(r'\d+\) "(\w+)" +\d+\) "(.*)"', text))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    haes("demo", folder=tmp_path)
    with subprocess.Popen(
        keeper, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"n\n")
        process.stdin.flush()
        # Its first answer says that the server is up.
        assert process.stdout.readline().startswith(b"1  0 s  cluster.created")
        done = subprocess.run(reader, cwd=tmp_path, capture_output=True, timeout=LIMIT, check=True)
        process.communicate(b"q\n", timeout=LIMIT)
    fields = done.stdout.split(b"\n")[1:]
    told = {
        name.decode(): value.decode(errors="replace") for name, value in zip(fields[::2], fields[1::2], strict=False)
    }
    assert re.fullmatch(rb"\d+-1", done.stdout.split(b"\n")[0])
    assert len(shown) == 7
    assert {name: told[name] for name in shown} == shown
