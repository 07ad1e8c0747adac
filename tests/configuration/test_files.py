"""A cluster's file: what may stand there, and where it says what is wrong."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import UserError
from haes.configuration.cluster import Archiving
from haes.configuration.file import parse_cluster, read_cluster
from haes.configuration.locate import line_of
from haes.configuration.resource import check_changes
from tests.cli.running import haes

GOOD = """\
[cluster]
name = "demo"
durability = "replicas:1"
[nodes.node1]
cpus = 4
memory = "2 GiB"
[nodes.node2]
[resources."process:web"]
node = "node1"
command = "sleep 'a b'"
stop_timeout = 5
[settings.crs]
ha = "dynamic"
"""


def test_a_good_file_is_read_whole() -> None:
    """Sizes, commands and settings come out in their proper types, defaults filled in."""
    cluster = parse_cluster(GOOD, "x")
    assert (cluster.name, cluster.durability, cluster.nodes["node1"].memory) == ("demo", "replicas:1", 2 * 1024**3)
    web = cluster.resources["process:web"]
    assert web["service"] == {"command": ["sleep", "a b"], "stop_timeout": 5.0}
    assert (web["state"], web["max_restart"], web["node"]) == ("started", 1, "node1")
    assert cluster.settings == {"crs": {"ha": "dynamic"}}
    assert cluster.archiving is None
    archiving = parse_cluster(f'{GOOD}\n[archive]\ndirectory = "/segments"\nkeep_events = 7\n', "x").archiving
    assert archiving == Archiving("/segments", keep_events=7)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'durability = "replicas:1"',
            'durability = "always"',
            "x:3: 'durability' cannot be 'always'; allowed is local",
        ),
        ("cpus = 4", "cpus = 0", "x:5: node1: 'cpus' cannot be 0; allowed is a number above 0"),
        ('memory = "2 GiB"', 'memory = "lots"', "x:6: node1: 'memory' cannot be 'lots'; allowed is a number of bytes"),
        ('node = "node1"', 'node = "node9"', "there is no node 'node9'; known are node1, node2"),
        ('node = "node1"\n', "", "x:8: process:web: 'node' is missing"),
        ("stop_timeout = 5", "stop_timeout = -1", "x:11: process:web: 'stop_timeout' cannot be -1"),
        ("stop_timeout = 5", "color = 5", "x:11: process:web: unknown key 'color'; known are"),
        ('ha = "dynamic"', 'ha = "chaotic"', "setting 'ha' cannot be 'chaotic'; allowed is basic or static or dynamic"),
        ("[nodes.node1]", "[nodes.node_1]", "'node_1' is no name of a node"),
        ("[settings.crs]", "[settings.moon]", "unknown section 'moon'"),
        ("[cluster]", "[clutser]", "x:1: unknown key 'clutser'"),
        ("[cluster]", "[intervals]\nround = 0\n[cluster]", "x:2: intervals: 'round' cannot be 0"),
        ("[cluster]", "[intervals]\nagent_lease = 1\n[cluster]", "x:2: 'agent_lease' cannot be 1; allowed is at least"),
        ("[cluster]", "[archive]\n[cluster]", "x:1: 'directory' is missing in [archive]"),
        (
            "[cluster]",
            '[archive]\ndirectory = "a"\nsegment_events = 0\n[cluster]',
            "x:3: archive: 'segment_events' cannot be 0",
        ),
        ("[cluster]", '[archive]\ndirectory = "a"\npace = 1\n[cluster]', "x:3: archive: unknown key 'pace'"),
        ("[cluster]", "[cluster", "x: "),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, message: str) -> None:
    """File, line, key, value and what is allowed stand in one line."""
    with pytest.raises(UserError) as caught:
        parse_cluster(GOOD.replace(old, new), "x")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_the_command_checks_a_file(tmp_path: Path) -> None:
    """A good file is summed up with status 0, a bad or missing one ends in one line with status 2."""
    file = tmp_path / "cluster.toml"
    file.write_text(GOOD)
    assert haes("config", "check", file)[0] == f"{file}: cluster 'demo', 2 nodes, 1 resources\n"
    file.write_text("nodes = 1")
    assert "'nodes' must be a table" in haes("config", "check", file, status=2)[1]
    assert "cannot be read" in haes("config", "check", tmp_path / "missing", status=2)[1]
    file.write_bytes(b"\xff")
    with pytest.raises(UserError, match="it is not UTF-8"):
        read_cluster(file)


def test_an_imported_scenario_is_a_good_file(tmp_path: Path) -> None:
    """What `haes import` writes is what `haes config check` accepts."""
    example = Path(__file__).parent.parent.parent / "examples" / "failing-motion"
    file = tmp_path / "cluster.toml"
    haes("import", "ha-tester", example, "--output", file)
    assert len(read_cluster(file).resources) == 4


@given(st.dictionaries(st.text(max_size=8), st.one_of(st.integers(), st.text(max_size=8), st.booleans()), max_size=4))
def test_nothing_but_a_user_error_comes_of_any_values(given_: dict[str, object]) -> None:
    """Whatever somebody writes about a resource, it is allowed or refused, never a crash."""
    try:
        changes = check_changes("vm:1", {"node": "node1", **given_}, ["node1"], "x")
    except UserError:
        return
    assert changes["node"] == "node1"


@given(st.lists(st.sampled_from(["a", "b c", "d.e", "é"]), min_size=1, max_size=3))
def test_a_line_is_found_however_the_key_is_quoted(path: list[str]) -> None:
    """Dotted and quoted keys are found where they stand."""
    table, key = path[:-1], path[-1]
    lines = ["# nothing", ""]
    if table:
        lines.append("[" + ".".join(f'"{name}"' for name in table) + "]")
    lines.append(f'"{key}" = 1')
    text = "\n".join(lines)
    assert tomllib.loads(text)
    assert line_of(text, path) == len(lines)
