"""The file of fence devices: what is read, what is wrong with it, and what is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haes.fencing.devices import FenceConfig, Part
from haes.fencing.parse import error_report, parse_fence_config
from haes.fencing.write import write_fence_config

PARAMETERS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=8) | st.text("ab=\\\"' #"),
    min_size=1,
    max_size=3,
).map(tuple)
NODES = st.sampled_from(["node1", "node2", "rack-7.b", "N_4"])
PARTS = st.builds(
    Part, st.sampled_from(["fence_apc", "/usr/sbin/fence"]), PARAMETERS, st.dictionaries(NODES, PARAMETERS)
)
NAMES = st.from_regex(r"[a-zA-Z0-9:._#-]{1,8}", fullmatch=True)
CONFIGS = st.builds(
    FenceConfig,
    st.dictionaries(NAMES, st.dictionaries(st.integers(1, 999_999_999), PARTS, min_size=1, max_size=3), max_size=4),
)


def read(text: str) -> FenceConfig:
    """Returns the devices of a text with which nothing is wrong."""
    config, faults = parse_fence_config(text)
    assert faults == []
    return config


def errors(text: str) -> list[str]:
    """Returns what is gravely wrong with a text, of which nothing is used then."""
    config, faults = parse_fence_config(text)
    assert config == FenceConfig()
    return [str(fault) for fault in faults if fault.grave]


def test_devices_and_connections() -> None:
    """Comments, blanks and other systems' line ends count for nothing; without a number a device is its first part."""
    text = '# power\r\n\r\n \tdevice a fence_x ip="1 2" ssh \r\nconnect a:1\tnode=node1 plug=1\n  # end\ndevice b-c:2 fence_y x'
    assert read(text) == FenceConfig(
        {
            "a": {1: Part("fence_x", ("ip=1 2", "ssh"), {"node1": ("plug=1",)})},
            "b-c": {2: Part("fence_y", ("x",), {})},
        }
    )


def test_devices_are_tried_in_the_order_of_declaration() -> None:
    """The place of a device is that of its first part, however late others follow."""
    assert list(read("device z f x\ndevice a f x\ndevice z:2 f x\n").devices) == ["z", "a"]


def test_whole_names_count() -> None:
    """Names with dashes or dots are not cut short: two hosts must never be taken for one another."""
    config = read("device d f x\nconnect d node=rack-1.a p=1\nconnect d node=rack-2 p=2\ndevice d-2 f x\n")
    assert config.devices["d"][1].nodes.keys() == {"rack-1.a", "rack-2"}
    assert config.devices.keys() == {"d", "d-2"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("device a f x\n\ndevice a:1 f x", "line 3: device 'a:1' already declared"),
        ("connect a node=n p=1", "line 1: device 'a' must be declared before you can connect to it"),
        ("device a f x\nconnect a:2 node=n p=1", "line 2: No parallel device 'a:2' found"),
        ("device a f x\nconnect a host=n p=1", "line 2: node=nodename needed to connect device 'a' to node"),
        ("device a f x\nconnect a node= p=1", "line 2: node=nodename needed to connect device 'a' to node"),
        (
            "device a f x\nconnect a node=n p=1\nconnect a node=n p=2",
            "line 3: node 'n' already connected to device 'a:1'",
        ),
        ('device a f password="1', 'line 1: a quote is not closed in "1'),
    ],
)
def test_one_error_makes_the_file_useless(text: str, error: str) -> None:
    """An error is told with its line, and no device of such a file is used."""
    assert errors(text) == [error]


def test_all_errors_are_told() -> None:
    """Reading goes on behind an error, and the report names the file once and every error on a line of its own."""
    text = "connect a node=n p=1\ndevice a f x\ndevice a f x\n"
    _, faults = parse_fence_config(text)
    assert error_report("fence.cfg", faults) == (
        "Encountered error(s) on parsing 'fence.cfg':\n"
        "line 1: device 'a' must be declared before you can connect to it\n"
        "line 3: device 'a:1' already declared\n"
    )
    assert error_report("fence.cfg", []) == ""


@pytest.mark.parametrize(
    "line", ["devise a f x", "device a f", "connect a node=n", "Device a f x", "device a f \x0b\x0b"]
)
def test_other_lines_are_named_and_ignored(line: str) -> None:
    """A line that is neither a device nor a connection is told, and the rest of the file counts."""
    config, faults = parse_fence_config(f"device b f x\n{line}\n")
    assert config.devices.keys() == {"b"}
    assert [(fault.line, fault.grave) for fault in faults] == [(2, False)]


def test_text_of_devices() -> None:
    """Each part is a paragraph with the connections of its nodes, all in order, whatever needs it in double quotes."""
    config = FenceConfig(
        {
            "z": {2: Part("f", ("x",)), 1: Part("f", ('pw=a"b c',), {"n2": ("p=2",), "n1": ("p=1", "")})},
            "a": {1: Part("g", ("ip=1",))},
        }
    )
    assert write_fence_config(config) == (
        'device z:1 f pw="a\\"b c"\nconnect z:1 node=n1 p=1 ""\nconnect z:1 node=n2 p=2\n\n'
        "device z:2 f x\n\ndevice a:1 g ip=1\n"
    )


@given(CONFIGS)
def test_written_devices_read_back(config: FenceConfig) -> None:
    """What is written reads as the same devices, tried in the same order, without a complaint."""
    again = read(write_fence_config(config))
    assert again == config
    assert list(again.devices) == list(config.devices)


@given(
    st.lists(
        st.sampled_from(["device a f x", "connect a node=n p=1", 'device b:2 f "y', "device b:2 f y z", "# c", "?"])
    )
)
def test_whatever_is_read_can_be_written(lines: list[str]) -> None:
    """Devices that came from a file, be it a bad one, can always be written and read again."""
    config, _ = parse_fence_config("\n".join(lines))
    assert read(write_fence_config(config)) == config


@pytest.mark.parametrize(
    "config",
    [
        FenceConfig({"a": {}}),
        FenceConfig({"a": {1: Part("f", ())}}),
        FenceConfig({"a": {1: Part("f", ("x\ny",))}}),
        FenceConfig({"a b": {1: Part("f", ("x",))}}),
        FenceConfig({"a": {1: Part("f g", ("x",))}}),
        FenceConfig({"a": {1: Part("f", ("x",), {"n": ()})}}),
        FenceConfig({"a": {1: Part("f", ("x",), {"n\n": ("p",)})}}),
        FenceConfig({"a": {1: Part("f", ("x",), {"n/1": ("p",)})}}),
        FenceConfig({"a": {0: Part("f", ("x",))}}),
    ],
)
def test_what_a_file_cannot_say_is_not_written(config: FenceConfig) -> None:
    """Rather than writing something that reads as other devices, writing is refused."""
    with pytest.raises(ValueError, match=r"device '.+' cannot be written"):
        write_fence_config(config)
