"""What a leader measures in the simulated world: capacities and loads of nodes and resources."""

from haes.manager.inputs import Loads
from haes.scheduling.stats import NodeStats, ResourceStats
from haes.simulation.hardware import Hardware
from haes.simulation.scenario import DEFAULT_NODE
from haes.state.cluster import ClusterState

_Remark = tuple[str, str, str, dict[str, str]]


def measure(hardware: Hardware, state: ClusterState) -> Loads:
    """Returns the loads as they are now. A resource loads its node from when it really runs there."""
    capacities = {
        node: NodeStats(machine.capacity["maxcpu"], machine.capacity["maxmem"], 0.0, 0)
        for node, machine in hardware.machines.items()
        if len(machine.capacity) == 2  # noqa: PLR2004 - both of cpu and memory
    }
    limits = {
        resource: ResourceStats(values["maxcpu"], values["maxmem"], values["maxcpu"], values["maxmem"])
        for resource, values in hardware.limits.items()
        if {"maxcpu", "maxmem"} <= values.keys()
    }
    loads = {}
    remarks = []
    for resource in sorted(state.configurations):
        values = {**hardware.limits.get(resource, {}), **hardware.loads.get(resource, {})}
        if {"cpu", "mem", "maxcpu", "maxmem"} <= values.keys():
            loads[resource] = ResourceStats(values["cpu"], values["mem"], values["maxcpu"], values["maxmem"])
        remarks += [
            _overcommitted(what, resource)
            for what in ("cpu", "mem")
            if values.get(what, 0) > values.get(f"max{what}", float("inf"))
        ]
    node_loads, node_remarks = _node_loads(hardware, state, loads)
    # Resources are looked at twice: for themselves and for their nodes.
    return Loads(capacities, limits, node_loads, loads, [*remarks, *remarks, *node_remarks])


def _node_loads(
    hardware: Hardware, state: ClusterState, loads: dict[str, ResourceStats]
) -> tuple[dict[str, NodeStats], list[_Remark]]:
    used = {node: list(machine.other) for node, machine in hardware.machines.items()}
    full = {
        node: (
            machine.capacity.get("maxcpu", DEFAULT_NODE["maxcpu"]),
            machine.capacity.get("maxmem", DEFAULT_NODE["maxmem"]),
        )
        for node, machine in hardware.machines.items()
    }
    remarks = []
    for resource in sorted(state.configurations):
        node = state.configurations[resource].node
        machine = hardware.machines.get(node)
        if machine is None or not machine.runs.get(resource) or resource not in loads:
            continue
        node_used, load = used[node], loads[resource]
        node_used[0] += load.cpu
        if node_used[0] > full[node][0]:
            remarks.append(_overcommitted("cpu", node))
        node_used[1] += load.mem
        if node_used[1] > full[node][1]:
            remarks.append(_overcommitted("mem", node))
    stats = {node: NodeStats(full[node][0], full[node][1], cpu, int(mem)) for node, (cpu, mem) in used.items()}
    return stats, remarks


def _overcommitted(what: str, name: str) -> _Remark:
    return "simulation.overcommitted", name, "hardware", {"what": what, "name": name}
