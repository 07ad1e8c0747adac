"""Which commands cut a node off, attempt by attempt."""

from haes.fencing.devices import Command, FenceConfig, Part, commands_for, count_devices

CONFIG = FenceConfig(
    {
        "power": {
            2: Part("fence_apc", ("ip=b",), {"node1": ("plug=2",)}),
            1: Part("fence_apc", ("ip=a",), {"node1": ("plug=1",), "node2": ("plug=9",)}),
        },
        "other": {1: Part("fence_ilo", ("ip=c",), {"node3": ("x",)})},
        "network": {1: Part("fence_ifmib", ("ip=d",), {"node1": ("port=7",)})},
    }
)


def texts(node: str, attempt: int) -> list[str]:
    """Returns the commands of an attempt as text."""
    return [command.text() for command in commands_for(node, attempt, CONFIG)]


def test_all_parts_of_a_device_act_in_one_attempt() -> None:
    """A host with two power lines is off only when both are, so both go in one attempt, in the order of numbers."""
    assert texts("node1", 0) == ["fence_apc --ip=a --plug=1", "fence_apc --ip=b --plug=2"]


def test_only_parts_that_are_connected_act() -> None:
    """A part that is not connected to the node is not told anything."""
    assert texts("node2", 0) == ["fence_apc --ip=a --plug=9"]


def test_devices_that_are_not_connected_cost_no_attempt() -> None:
    """Each attempt uses a device of the node; others are passed over."""
    assert texts("node1", 1) == ["fence_ifmib --ip=d --port=7"]
    assert texts("node3", 0) == ["fence_ilo --ip=c -x"]


def test_when_no_device_is_left_there_is_no_command() -> None:
    """Attempts beyond the last device, and nodes without one, have no command."""
    assert texts("node1", 2) == texts("node2", 1) == texts("node9", 0) == []


def test_an_attempt_below_zero_is_the_first() -> None:
    """A count of failures that makes no sense does not skip a device."""
    assert texts("node1", -1) == texts("node1", 0)


def test_devices_are_counted_not_parts() -> None:
    """There are as many attempts as connected devices, however many parts they have."""
    assert [count_devices(node, CONFIG) for node in ("node1", "node2", "node3", "node9")] == [2, 1, 1, 0]
    assert all(bool(texts(node, attempt)) == (attempt < count_devices(node, CONFIG))
               for node in ("node1", "node2", "node3", "node9") for attempt in range(4))  # fmt: skip


def test_arguments() -> None:
    """Keys of one letter take one dash and their value apart, others two dashes and the value behind '='."""
    command = Command("fence_x", 1, ("ip=a b", "ssh", "n=7", "x", "password=a=b", "empty="))
    assert command.arguments() == ["--ip=a b", "--ssh", "-n", "7", "-x", "--password=a=b", "--empty"]
    assert command.text() == "fence_x --ip='a b' --ssh -n 7 -x --password='a=b' --empty"
