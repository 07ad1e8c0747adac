"""The report on fence devices, and the command that prints it."""

from pathlib import Path

import pytest

from haes.cli.main import main
from haes.fencing.parse import parse_fence_config
from haes.fencing.report import doubts, fence_report
from haes.fencing.write import write_fence_config

NODES = ("node1", "node2", "node3")
# How many fence configurations with reports lie in the shared folder, and how many of them can be used.
WHOLE, USABLE = 6, 4
TEXT = "device a f ip=1\nconnect a node=node1 plug=1\n\ndevice b g x\nconnect b node=node1 plug=2\nconnect b node=node2 y\n"


def report(text: str, name: str) -> str:
    """Returns the report on a text."""
    config, faults = parse_fence_config(text)
    return fence_report(config, faults, name, NODES)


def test_reports_come_out_to_the_byte(shared: Path) -> None:
    """Each configuration beside the repository comes to the report that stands beside it, its folder's name aside."""
    paths = sorted((shared / "scenarios" / "fence").glob("*.cfg"))
    assert len(paths) == WHOLE
    for path in paths:
        expected = path.with_name(f"{path.name}.expect").read_text(encoding="utf-8")
        assert report(path.read_bytes().decode(), f"fence_cfgs/{path.name}") == expected, path.name


def test_known_configurations_read_back(shared: Path) -> None:
    """Each usable configuration beside the repository reads as the same devices once it has been written."""
    read = [parse_fence_config(path.read_text("utf-8")) for path in (shared / "scenarios" / "fence").glob("*.cfg")]
    usable = [config for config, faults in read if not faults]
    assert len(usable) == USABLE
    for config in usable:
        assert parse_fence_config(write_fence_config(config)) == (config, [])


def test_the_whole_report() -> None:
    """Attempts are shown node by node, up to the first one that has nothing left for any node."""
    assert report(TEXT, "fence.cfg") == (
        "[try] 0\n[node1-cmd] f --ip=1 --plug=1\n[node2-cmd] g -x -y\n[node3-cmd] none\n"
        "[try] 1\n[node1-cmd] g -x --plug=2\n[node2-cmd] none\n[node3-cmd] none\n"
        "[try] 2\n[node1-cmd] none\n[node2-cmd] none\n[node3-cmd] none\n"
    )


def test_no_device_at_all() -> None:
    """Without devices, the first attempt has nothing for anybody."""
    assert report("", "fence.cfg") == "[try] 0\n[node1-cmd] none\n[node2-cmd] none\n[node3-cmd] none\n"


def test_doubts() -> None:
    """A connected node that nobody knows, and a node that nothing can cut off, are named."""
    config, _ = parse_fence_config("device a f x\nconnect a node=node1 p=1\nconnect a node=Node2 p=2\n")
    assert doubts(config, ("node1", "node2")) == [
        "Node2: is connected, but is not a node of this cluster; known are node1, node2",
        "node2: no device is connected to it",
    ]


def test_the_command_prints_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report goes to standard output alone, and what is doubtful or ignored to standard error, a line each."""
    path = tmp_path / "fence.cfg"
    path.write_text(f"{TEXT}nonsense\n")
    assert main(["fence", "check", str(path), "--nodes", "node1,node2,node3"]) == 0
    output = capsys.readouterr()
    assert output.out == report(TEXT, str(path))
    assert output.err.splitlines() == [
        f"warning: {path}: line 7: is ignored, being neither a device nor a connection: nonsense",
        f"warning: {path}: node3: no device is connected to it",
    ]


def test_the_command_says_no_to_a_useless_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file with an error ends with status 1 and the errors as the report."""
    path = tmp_path / "fence.cfg"
    path.write_text("connect a node=node1 p=1\n")
    assert main(["fence", "check", str(path), "--nodes", "node1"]) == 1
    output = capsys.readouterr()
    assert output.out == (
        f"[FenceConfig] Encountered error(s) on parsing '{path}':\n"
        "line 1: device 'a' must be declared before you can connect to it\n"
    )
    assert output.err == ""


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_the_command_needs_a_file_of_text(
    tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is missing or not UTF-8 is refused in one line."""
    path = tmp_path / "fence.cfg"
    if content is not None:
        path.write_bytes(content)
    assert main(["fence", "check", str(path), "--nodes", "node1"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"haes: {path}: ")
    assert error.count("\n") == 1


def test_the_command_needs_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a node there is nothing to report on."""
    path = tmp_path / "fence.cfg"
    path.write_text(TEXT)
    assert main(["fence", "check", str(path), "--nodes="]) == 2
    assert capsys.readouterr().err.startswith("haes: --nodes")
