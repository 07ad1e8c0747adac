"""The cluster's settings: keys, defaults, allowed values; knows nothing of where they are kept.

Settings live in two sections, `crs` (scheduling and balancing) and `ha`. A setting that is not given has its default.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from events.errors import UserError
from haes.bounds import shown

# The scheduler modes, and those of them that know loads and can therefore balance.
SCHEDULERS = ("basic", "static", "dynamic")
BALANCING_SCHEDULERS = ("static", "dynamic")
METHODS = ("bruteforce", "topsis", "plan")
# The method that looks for whole sequences; the others choose one motion after the other.
METHOD_AHEAD = "plan"
BACKOFFS = ("none", "time", "series")
SHUTDOWN_POLICIES = ("conditional", "freeze", "failover", "migrate")
# The longest time, a year, and the largest count: beyond them nothing would ever happen, and no mistake was meant.
LONGEST = 365 * 86400
MOST = 1_000_000
# Values of `ha-auto-rebalance`.
BALANCER_OFF, BALANCER_ON, BALANCER_ADVISES = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its default, and what is allowed.

    Attributes:
        default: the value when nothing is set; None means off.
        choices: allowed words, or empty for a number.
        lowest: smallest allowed number.
        highest: largest allowed number, None for no limit.
        whole: only whole numbers.
        unit: for messages.
    """

    default: str | float | None
    choices: tuple[str, ...] = ()
    lowest: float = 0
    highest: float | None = None
    whole: bool = True
    unit: str = ""


CRS_KEYS: dict[str, Key] = {
    "ha": Key("basic", SCHEDULERS),
    "ha-rebalance-on-start": Key(0, highest=1),
    "ha-auto-rebalance": Key(0, highest=2),
    "ha-auto-rebalance-threshold": Key(30, highest=100, whole=False, unit="percent"),
    "ha-auto-rebalance-hold-duration": Key(3, highest=MOST, unit="rounds"),
    "ha-auto-rebalance-margin": Key(10, highest=100, whole=False, unit="percent"),
    "ha-auto-rebalance-method": Key("bruteforce", METHODS),
    "ha-auto-rebalance-backoff": Key("series", BACKOFFS),
    "ha-auto-rebalance-backoff-base": Key(60, highest=LONGEST, unit="seconds"),
    "ha-auto-rebalance-backoff-max": Key(3600, highest=LONGEST, unit="seconds"),
    "ha-auto-rebalance-cooldown": Key(600, highest=LONGEST, unit="seconds"),
    "ha-auto-rebalance-max-target-load": Key(None, highest=100, whole=False, unit="percent"),
    "ha-auto-rebalance-max-spread": Key(None, highest=100, whole=False, unit="percent"),
    "ha-auto-rebalance-breaker": Key(10, highest=MOST, unit="failed motions"),
    # How motions are remembered that others than the balancer ask for, and after how many that failed for a reason of
    # the whole node it is left alone (0: never).
    "ha-motion-backoff": Key("none", BACKOFFS),
    "ha-motion-node-breaker": Key(3, highest=MOST, unit="failed motions"),
    "ha-load-average-window": Key(60, highest=LONGEST, unit="seconds"),
}
HA_KEYS: dict[str, Key] = {
    "shutdown_policy": Key("conditional", SHUTDOWN_POLICIES),
    # When a service that ended by itself is started again; a service's own configuration may say otherwise.
    "restart-delay": Key(1, highest=LONGEST, whole=False, unit="seconds"),
    "restart-factor": Key(2, lowest=1, highest=100, whole=False),
    "restart-max-delay": Key(300, highest=LONGEST, whole=False, unit="seconds"),
    "restart-window": Key(600, highest=LONGEST, whole=False, unit="seconds"),
    "restart-healthy": Key(60, highest=LONGEST, whole=False, unit="seconds"),
    # From how many deaths in an hour on somebody should look at a service, however well it runs in between.
    "flapping-deaths": Key(3, lowest=1, highest=MOST, unit="deaths in an hour"),
}
SECTIONS: dict[str, dict[str, Key]] = {"crs": CRS_KEYS, "ha": HA_KEYS}

# What only a live cluster has: how loads are measured, for example. In a simulation they are the scenario's.
LIVE_ONLY = ("ha-load-average-window",)

# Percentages that used to be fractions: a value between 0 and 1 is almost certainly an old one.
ONCE_FRACTIONS = ("ha-auto-rebalance-threshold", "ha-auto-rebalance-margin")

Settings = dict[str, dict[str, Any]]


def allowed(key: Key) -> str:
    """Says in words what a setting may be."""
    if key.choices:
        return " or ".join(key.choices)
    number = "a whole number" if key.whole else "a number"
    limit = f"from {_plain(key.lowest)}" + (f" to {_plain(key.highest)}" if key.highest is not None else " on")
    unit = f" ({key.unit})" if key.unit else ""
    return f"{number} {limit}{unit}" + (", or off" if key.default is None else "")


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def check_value(section: str, name: str, value: object, origin: str) -> str | float | None:
    """Returns a setting's value in its proper type.

    Raises:
        UserError: the key or the value is not allowed; the message names origin, key and what is allowed.
    """
    key = SECTIONS[section].get(name)
    if key is None:
        known = ", ".join(SECTIONS[section])
        raise UserError(f"{origin}: unknown setting '{name}' in section '{section}'; known are {known}")
    if key.choices:
        if value in key.choices:
            return str(value)
    elif value == "off" and key.default is None:
        return None
    else:
        number = _number(value)
        if (
            number is not None
            and number >= key.lowest
            and (key.highest is None or number <= key.highest)
            and (not key.whole or number == int(number))
        ):
            return int(number) if number == int(number) else number
    raise UserError(f"{origin}: setting '{name}' cannot be '{shown(value, 80)}'; allowed is {allowed(key)}")


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        number = value
    else:
        try:
            number = float(str(value))
        except ValueError:
            return None
    return number if math.isfinite(number) else None


def check_settings(raw: object, origin: str) -> Settings:
    """Checks settings as they come from a file: `{"crs": {...}, "ha": {...}}`; only what is set is returned.

    Raises:
        UserError: a section, key or value is not allowed.
    """
    if not isinstance(raw, Mapping):
        raise UserError(f"{origin}: settings must be an object with the sections crs and ha")
    checked: Settings = {}
    for section, values in raw.items():
        if section not in SECTIONS:
            raise UserError(f"{origin}: unknown section '{section}'; known are {', '.join(SECTIONS)}")
        if not isinstance(values, Mapping):
            raise UserError(f"{origin}: section '{section}' must be an object")
        checked[section] = {str(name): check_value(section, str(name), value, origin) for name, value in values.items()}
    return checked


def merge(before: Settings, raw: object, origin: str) -> Settings:
    """Returns settings with some values changed; null takes a value back to its default.

    Raises:
        UserError: as by `check_settings`.
    """
    if not isinstance(raw, Mapping) or not all(isinstance(values, Mapping) for values in raw.values()):
        raise UserError(f"{origin}: settings must be an object with the sections crs and ha")
    set_ = {section: {key: value for key, value in part.items() if value is not None} for section, part in raw.items()}
    merged = {section: dict(values) for section, values in before.items()}
    for section, values in check_settings(set_, origin).items():
        merged.setdefault(section, {}).update(values)
    for section, part in raw.items():
        for key, value in part.items():
            if value is None:
                merged[section].pop(key, None)
    return merged


def override(settings: Settings, assignment: str) -> None:
    """Changes settings in place by `KEY=VALUE`; a bare key belongs to `crs`, others are written `SECTION.KEY`.

    Raises:
        UserError: it is no assignment, or key or value are not allowed.
    """
    name, equals, value = assignment.partition("=")
    if not equals:
        raise UserError(f"--set {assignment}: expected KEY=VALUE")
    section, dot, rest = name.partition(".")
    if dot and section in SECTIONS:
        name = rest
    else:
        section = "crs"
    settings.setdefault(section, {})[name] = check_value(section, name, value, "--set")


def override_simulated(settings: Settings, assignment: str) -> None:
    """Changes settings as `override` does, for a simulation.

    Raises:
        UserError: as by `override`, or the setting has no effect in a simulation.
    """
    override(settings, assignment)
    name = assignment.partition("=")[0].rpartition(".")[2]
    refuse_live_only({"crs": {name: None}}, "--set")


def refuse_live_only(settings: Settings, origin: str) -> None:
    """Refuses the settings that a simulation would ignore.

    Raises:
        UserError: there is one.
    """
    for name in LIVE_ONLY:
        if name in settings.get("crs", {}):
            raise UserError(
                f"{origin}: setting '{name}' has no effect in a simulation, whose loads are those that it is given "
                "at each moment; leave it out"
            )


def warnings_for(settings: Settings) -> list[str]:
    """Names the settings that are allowed but almost certainly mistaken."""
    crs = settings.get("crs", {})
    return [
        f"setting '{name}' is {crs[name]}: percent are expected (30 for 30 %), a value below 1 is almost never meant"
        for name in ONCE_FRACTIONS
        if 0 < crs.get(name, 0) < 1
    ]


def crs(settings: Settings, name: str) -> Any:
    """Returns the value of a `crs` setting, its default where it is not set."""
    section = settings.get("crs")
    if section is not None and name in section:
        return section[name]
    return CRS_KEYS[name].default


def ha(settings: Settings, name: str) -> Any:
    """Returns the value of an `ha` setting, its default where it is not set."""
    return settings.get("ha", {}).get(name, HA_KEYS[name].default)


def shutdown_policy(settings: Settings) -> str:
    """Returns what an agent does with its resources when its node shuts down."""
    return str(ha(settings, "shutdown_policy"))
