"""What a command of the command list, or its consequence, does to the simulated world."""

from typing import Any

from events.errors import UserError
from haes.agent.process import AgentProcess
from haes.manager.process import ManagerProcess
from haes.simulation.scenario import MEBIBYTE, RESOURCE_ID
from haes.simulation.steps import parse_step
from haes.simulation.world import AgentSurroundings, Host, World
from haes.state.batch import Batch

# What an added resource gets where nothing is said.
_ADDED = {
    "state": "started",
    "failback": True,
    "max_restart": 1,
    "max_relocate": 1,
    "group": None,
    "lock": None,
    "auto_rebalance": True,
    "needs": {},
}
DEFAULT_LOCK = "backup"
OPERATOR = "operator"


async def act(world: World, command: str, by: str) -> None:
    """Carries a command out.

    Args:
        world: the world.
        command: in one of the forms of `steps`.
        by: the source: cmdlist, or what made the command necessary (watchdog, reboot, shutdown).

    Raises:
        UserError: the command cannot be carried out as things are.
    """
    batch = world.batch(by)
    batch.emit("simulation.command", "simulation", about=command, command=command)
    parsed = parse_step(command)
    assert parsed is not None  # noqa: S101 - commands are checked before a simulation begins
    name, parts = parsed
    _ACTIONS[name](world, batch, parts)
    await world.write(batch)


class _As:
    """Lets a batch speak for another author for a while."""

    def __init__(self, batch: Batch, host: Host, part: str) -> None:
        self._batch, self._by, self._at = batch, f"{host.node}/{part}", host.clock(part)
        self._before = (batch.by, batch.at)

    def __enter__(self) -> None:
        self._batch.by, self._batch.at = self._by, self._at

    def __exit__(self, *_: object) -> None:
        self._batch.by, self._batch.at = self._before


def start_manager(batch: Batch, host: Host) -> None:
    """Starts a node's manager, unless it runs."""
    if host.manager is None:
        host.manager = ManagerProcess(host.node)
        host.manager_watchdog = None
        with _As(batch, host, "crm"):
            host.manager.start(batch)


def start_agent(batch: Batch, host: Host) -> None:
    """Starts a node's agent, unless it runs."""
    if host.agent is None:
        host.agent = AgentProcess(host.node)
        host.agent_watchdog = None
        with _As(batch, host, "lrm"):
            host.agent.start(batch)


def power(world: World, batch: Batch, parts: dict[str, str]) -> None:
    """Switches a node on, with its processes, or cuts its power."""
    host, machine = world.hosts[parts["node"]], world.hardware.machines[parts["node"]]
    on = parts["value"] == "on"
    if on and not machine.power:
        start_manager(batch, host)
        start_agent(batch, host)
        host.restarting_agent = False
        machine.can_use_store = machine.store_is_current = True
    elif machine.power and not on:
        for part, process in (("crm", host.manager), ("lrm", host.agent)):
            if process is not None:
                with _As(batch, host, part):
                    batch.emit("node.killed", host.node)
        host.manager = host.agent = None
        host.restarting_agent = False
        machine.watchdogs.clear()
        machine.runs.clear()
    machine.power = machine.network = on
    machine.going = None


def _network(world: World, _batch: Batch, parts: dict[str, str]) -> None:
    world.hardware.machines[parts["node"]].network = parts["value"] == "on"


def _store(world: World, _batch: Batch, parts: dict[str, str]) -> None:
    machine, works = world.hardware.machines[parts["node"]], parts["value"] == "work"
    if parts["what"] == "rw":
        machine.can_use_store = works
    else:
        machine.store_is_current = works


def _version(world: World, _batch: Batch, parts: dict[str, str]) -> None:
    world.hardware.machines[parts["node"]].version = parts["value"]


def _ask_agent_to_leave(world: World, batch: Batch, host: Host, going: str | None) -> None:
    if host.agent is not None:
        with _As(batch, host, "lrm"):
            surroundings = AgentSurroundings(world, host, batch.state or world.state)
            host.agent.request_shutdown(batch, surroundings, node_goes=going)


def _go_down(world: World, batch: Batch, parts: dict[str, str]) -> None:
    host, machine = world.hosts[parts["node"]], world.hardware.machines[parts["node"]]
    machine.going = parts["how"]
    _ask_agent_to_leave(world, batch, host, machine.going)


def _restart_agent(world: World, batch: Batch, parts: dict[str, str]) -> None:
    host = world.hosts[parts["node"]]
    if host.agent is not None:
        host.restarting_agent = True
        _ask_agent_to_leave(world, batch, host, world.hardware.machines[host.node].going)


def _manager_process(world: World, batch: Batch, parts: dict[str, str]) -> None:
    host = world.hosts[parts["node"]]
    if parts["value"] == "start":
        start_manager(batch, host)
    elif host.manager is not None:
        host.stopping_manager = True
        with _As(batch, host, "crm"):
            host.manager.request_shutdown(batch)


def ask(batch: Batch, verb: str, arguments: list[str], user: str = OPERATOR) -> None:
    """Hands a command to the leader, as an operator does."""
    assert batch.state is not None  # noqa: S101 - world batches decide on a working copy
    number = batch.state.command_count + 1
    batch.emit(
        "command.received",
        "commands",
        about=" ".join([verb, *arguments]),
        correlation=f"command/{number}",
        id=number,
        verb=verb,
        arguments=arguments,
        text=" ".join([verb, *arguments]),
        user=user,
    )


def _maintenance(_world: World, batch: Batch, parts: dict[str, str]) -> None:
    ask(batch, parts["verb"], [parts["node"]])


def _disarm(_world: World, batch: Batch, parts: dict[str, str]) -> None:
    ask(batch, "disarm-ha", [parts["mode"]])


def _arm(_world: World, batch: Batch, _parts: dict[str, str]) -> None:
    ask(batch, "arm-ha", [])


def _motion(_world: World, batch: Batch, parts: dict[str, str]) -> None:
    ask(batch, parts["verb"], [parts["resource"], parts["node"]])


def _stop(_world: World, batch: Batch, parts: dict[str, str]) -> None:
    ask(batch, "stop", [parts["resource"], parts["timeout"]])


def _configured(batch: Batch, resource: str) -> None:
    assert batch.state is not None  # noqa: S101 - world batches decide on a working copy
    if resource not in batch.state.configurations:
        raise UserError(f"command list: there is no resource '{resource}' at this point")


def _configure(batch: Batch, resource: str, **changes: Any) -> None:
    _configured(batch, resource)
    batch.emit("resource.configured", resource, changes=changes)


def _state(_world: World, batch: Batch, parts: dict[str, str]) -> None:
    _configure(batch, parts["resource"], state=parts["value"])


def _add(world: World, batch: Batch, parts: dict[str, str]) -> None:
    resource, node = parts["resource"], parts["node"]
    assert batch.state is not None  # noqa: S101 - world batches decide on a working copy
    if resource in batch.state.configurations:
        raise UserError(f"command list: resource '{resource}' exists already at this point")
    if not RESOURCE_ID.match(resource):
        raise UserError(f"command list: '{resource}' is no resource id; expected vm:NUMBER, ct:NUMBER or fa:NUMBER")
    changes = {**_ADDED, "node": node, "state": parts["value"] or "started"}
    batch.emit("resource.configured", resource, changes=changes)
    world.hardware.machines[node].runs[resource] = bool(int(parts["running"] or 0))


def _delete(world: World, batch: Batch, parts: dict[str, str]) -> None:
    _configured(batch, parts["resource"])
    batch.emit("resource.unconfigured", parts["resource"])
    world.hardware.limits.pop(parts["resource"], None)


def _lock(_world: World, batch: Batch, parts: dict[str, str]) -> None:
    _configure(batch, parts["resource"], lock=parts["value"] or DEFAULT_LOCK)


def _unlock(_world: World, batch: Batch, parts: dict[str, str]) -> None:
    _configured(batch, parts["resource"])
    assert batch.state is not None  # noqa: S101 - world batches decide on a working copy
    lock = batch.state.configurations[parts["resource"]].lock
    if lock is not None and parts["value"] in {"", lock}:
        _configure(batch, parts["resource"], lock=None)


def _move_by_hand(_world: World, batch: Batch, parts: dict[str, str]) -> None:
    _configured(batch, parts["resource"])
    assert batch.state is not None  # noqa: S101 - world batches decide on a working copy
    ignored = batch.state.configurations[parts["resource"]].state == "ignored"
    disarmed = batch.state.disarm is not None and batch.state.disarm.mode == "ignore"
    if not ignored and not disarmed:
        raise UserError(
            f"command list: manual-migrate of '{parts['resource']}' needs it in state ignored, or disarm-ha ignore"
        )
    _configure(batch, parts["resource"], node=parts["node"])


def _stats(values: str) -> dict[str, float]:
    words = values.split()
    return {
        key: float(number) if key in {"cpu", "maxcpu"} else float(number) * MEBIBYTE
        for key, number in zip(words[::2], words[1::2], strict=True)
    }


def _static_stats(world: World, batch: Batch, parts: dict[str, str]) -> None:
    _configured(batch, parts["resource"])
    world.hardware.limits.setdefault(parts["resource"], {}).update(_stats(parts["values"]))


def _dynamic_stats(world: World, batch: Batch, parts: dict[str, str]) -> None:
    _configured(batch, parts["resource"])
    world.hardware.loads.setdefault(parts["resource"], {}).update(_stats(parts["values"]))


_ACTIONS = {
    "power": power,
    "network": _network,
    "cfs": _store,
    "version": _version,
    "go": _go_down,
    "restart-lrm": _restart_agent,
    "crm-process": _manager_process,
    "maintenance": _maintenance,
    "disarm": _disarm,
    "arm": _arm,
    "state": _state,
    "motion": _motion,
    "stop": _stop,
    "add": _add,
    "delete": _delete,
    "lock": _lock,
    "unlock": _unlock,
    "manual-migrate": _move_by_hand,
    "static-stats": _static_stats,
    "dynamic-stats": _dynamic_stats,
}
