"""Imports run one way: events, then the core, then the shells, with the command line on top."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("events", "haes", "replay")

# The decisions: plain synchronous Python, to which time, identity and measurements come as arguments.
CORE = (
    "haes.configuration",
    "haes.agent",
    "haes.balancer",
    "haes.bounds",
    "haes.exit_codes",
    "haes.fencing",
    "haes.journal",
    "haes.machines",
    "haes.manager",
    "haes.rules",
    "haes.scheduling",
    "haes.settings",
    "haes.state",
    "haes.telemetry",
    "haes.version",
)
# What would bring a clock, chance, waiting or the outside world into the core.
OUTSIDE = (
    "asyncio",
    "datetime",
    "os",
    "random",
    "redis",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "time",
    "uuid",
)
# The parts of `events` that reach a server; the port of the log reaches none.
SERVERS = ("events.embedded", "events.log", "events.url")


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path) -> set[str]:
    """Returns everything that a module imports anywhere in it; `from a.b import c` counts as `a.b` and as `a.b.c`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide their direction"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
            # A package's own modules are named above; the package itself holds nothing.
            found |= {node.module or ""} - set(PACKAGES)
    return found


def _within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


IMPORTS = {
    _module(path): _imports(path)
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if "__pycache__" not in path.parts
}


def _edges(*, of: tuple[str, ...], to: tuple[str, ...], but: tuple[str, ...] = ()) -> list[str]:
    """Returns the imports of some packages that lead to others, some excepted."""
    return [
        f"{module} imports {name}"
        for module, names in IMPORTS.items()
        if _within(module, *of)
        for name in sorted(names)
        if _within(name, *to) and not _within(name, *but)
    ]


def test_every_module_is_looked_at() -> None:
    """The walk sees the packages that it speaks of."""
    assert set(CORE) <= IMPORTS.keys()
    assert IMPORTS["haes.cli.main"]


def test_events_knows_nothing_of_ha() -> None:
    """The log can be used by anybody."""
    assert not _edges(of=("events",), to=("haes", "replay"))


@pytest.mark.parametrize("package", CORE)
def test_the_core_has_no_clock_no_chance_and_no_server(package: str) -> None:
    """A decision depends on its arguments alone."""
    assert not _edges(
        of=(package,),
        to=(*OUTSIDE, *SERVERS),
        but=("events.log.port", "events.log.durability", "events.log.checks", "events.log.side"),
    )


@pytest.mark.parametrize("package", CORE)
def test_the_core_knows_no_shell(package: str) -> None:
    """Of HAES the core imports only the core, and of drivers only what is asked of one."""
    assert not _edges(of=(package,), to=("haes", "replay"), but=(*CORE, "haes.drivers.port"))


def test_simulated_hardware_is_for_the_simulation_and_its_driver() -> None:
    """Nobody mistakes the simulated world for the real one."""
    users = {module for module, names in IMPORTS.items() for name in names if _within(name, "haes.simulation.hardware")}
    assert {user for user in users if not _within(user, "haes.simulation")} == {"haes.drivers.simulated"}


def test_the_simulation_does_not_know_the_live_shell() -> None:
    """The two shells share the core and nothing else."""
    assert not _edges(of=("haes.simulation",), to=("haes.live",))


def test_replay_uses_events_and_the_core() -> None:
    """What happened and why follows from log and rules; only running a story again needs the simulation shell."""
    edges = _edges(of=("replay",), to=("haes",), but=CORE)
    runs = ("replay.again imports haes.simulation.", "replay.stage imports haes.simulation.")
    assert [edge for edge in edges if not edge.startswith(runs)] == []


def test_the_command_line_is_on_top() -> None:
    """Nothing but the command line imports the command line."""
    others = tuple(module for module in IMPORTS if not _within(module, "haes.cli"))
    assert not [edge for edge in _edges(of=others, to=("haes.cli",)) if not edge.startswith("haes.cli")]
