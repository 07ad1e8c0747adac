"""The scenarios that come with the repository, and the settings that each kind of expected journal stands for."""

from pathlib import Path

from haes.simulation.scenario import Scenario, load_scenario

DATA = Path(__file__).parent / "data"
FOLDERS = sorted(path for path in DATA.iterdir() if path.is_dir())

# File with the expected journal -> the settings under which it was recorded.
SETTINGS = {
    "log.expect": ["ha-auto-rebalance-backoff=none", "ha-auto-rebalance-cooldown=0", "ha-auto-rebalance-breaker=0"],
    "log.time": ["ha-auto-rebalance-backoff=time", "ha-auto-rebalance-breaker=0"],
    "log.series": ["ha-auto-rebalance-backoff=series", "ha-auto-rebalance-breaker=0"],
}
PAIRS = [(folder.name, name) for folder in FOLDERS for name in SETTINGS if (folder / name).is_file()]


def load(name: str, log_name: str = "log.series") -> Scenario:
    """Returns a scenario of the sample under the settings of one of its journals."""
    return load_scenario(DATA / name, SETTINGS[log_name])


def of_kinds(*kinds: str) -> list[str]:
    """Returns the names of the sample's scenarios of these kinds."""
    prefixes = tuple(f"test-{kind}-1" for kind in kinds) + tuple(f"test-{kind}-2" for kind in kinds)
    return [folder.name for folder in FOLDERS if folder.name.startswith(prefixes)]
