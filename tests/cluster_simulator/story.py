"""What goes wrong in a run, and what people ask for: a list made from a seed and a profile, before anything happens.

Each fault stands for itself, so that a story stays a story when faults are left out of it. Knows no cluster but by names.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

NODES = ("node1", "node2", "node3")
SERVICES = ("vm:1", "vm:2", "vm:3", "process:a", "process:b")
USERS = ("ann", "bob")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, or one command of an operator.

    Attributes:
        at: when, virtual seconds.
        kind: what, a method of `Nemesis`.
        who: the process, node or service that it is about; empty for the server.
        value: how much of it.
        seconds: how long it lasts.
        words: of a command: user, verb, arguments.
    """

    at: float
    kind: str
    who: str = ""
    value: float = 0.0
    seconds: float = 0.0
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Returns it in one line."""
        parts = [f"{self.at:8.2f} s  {self.kind}", self.who, " ".join(self.words)]
        parts += [f"{self.value:g}"] if self.value else []
        parts += [f"for {self.seconds:.1f} s"] if self.seconds else []
        return " ".join(part for part in parts if part)


Make = Callable[[random.Random, float], Fault]


def _node(chance: random.Random) -> str:
    return chance.choice(NODES)


def _process(chance: random.Random) -> str:
    return f"{chance.choice(('manager', 'agent'))} {_node(chance)}"


def _long(chance: random.Random, mean: float) -> float:
    """Returns a duration; most are short, some are long."""
    return min(chance.expovariate(1 / mean), 10 * mean)


def _command(chance: random.Random, at: float) -> Fault:
    service, node = chance.choice(SERVICES), _node(chance)
    words = chance.choices(
        [
            ("migrate", service, node),
            ("relocate", service, node),
            ("configure", service, json.dumps({"state": chance.choice(("started", "stopped", "disabled"))})),
            ("configure", service, json.dumps({"state": "started"})),
            ("stop", service, chance.choice(("0", "5", "30"))),
            ("unconfigure", service),
            ("configure", service, json.dumps(_definition(service, node))),
            ("enable-node-maintenance", node),
            ("disable-node-maintenance", node),
            ("disarm-ha", chance.choice(("freeze", "ignore"))),
            ("arm-ha",),
            ("rebalance-advise",),
            ("change-settings", json.dumps({"crs": {"ha": chance.choice(("basic", "static", "dynamic"))}})),
            ("add-node", "node4"),
            ("remove-node", "node4"),
            ("migrate", "vm:77", node),
            ("nonsense", service),
        ],
        [10, 6, 6, 8, 3, 3, 6, 2, 4, 1, 3, 1, 1, 1, 1, 1, 1],
    )[0]
    return Fault(at, "command", words=(chance.choice(USERS), *words))


def _definition(service: str, node: str) -> dict[str, object]:
    values: dict[str, object] = {"node": node, "state": "started"}
    return {**values, "command": ["serve", service]} if service.startswith("process:") else values


def _hostile(chance: random.Random, at: float) -> Fault:
    """What a broken client might write."""
    words = chance.choice(
        [
            ("change-settings", '{"crs": {"ha-auto-rebalance-cooldown": 1e30}}'),
            ("stop", "process:a", "9" * 40),
            ("migrate", "vm:\udcff", "node1"),
            ("configure", "vm:1", "[" * 5000 + "]" * 5000),
            ("configure", "vm:1", '{"state": 1e999}'),
            ("change-rules", "node-affinity: x\n" * 3),
            ("migrate", "", ""),
            ("",),
        ]
    )
    return Fault(at, "hostile", words=(chance.choice(USERS), *words))


# Kind of fault -> how one is made.
MAKERS: Mapping[str, Make] = {
    "kill": lambda chance, at: Fault(at, "kill", _process(chance)),
    "pause": lambda chance, at: Fault(at, "pause", _process(chance), seconds=_long(chance, 12)),
    "leave": lambda chance, at: Fault(at, "leave", _process(chance)),
    "stay_down": lambda chance, at: Fault(at, "stay_down", _process(chance), seconds=_long(chance, 40)),
    "reload": lambda chance, at: Fault(at, "reload", value=chance.choice((0.5, 1.0, 2.0))),
    "slow": lambda chance, at: Fault(at, "slow", value=chance.choice((0.1, 0.5, 2.0)), seconds=_long(chance, 15)),
    "lose_requests": lambda chance, at: Fault(
        at, "lose_requests", value=chance.choice((0.05, 0.3)), seconds=_long(chance, 10)
    ),
    "lose_replies": lambda chance, at: Fault(
        at, "lose_replies", value=chance.choice((0.05, 0.3)), seconds=_long(chance, 10)
    ),
    "cut": lambda chance, at: Fault(at, "cut", _process(chance), seconds=_long(chance, 20)),
    "cut_node": lambda chance, at: Fault(at, "cut_node", _node(chance), seconds=_long(chance, 30)),
    "restart_server": lambda chance, at: Fault(at, "restart_server", seconds=_long(chance, 5)),
    "stick_server": lambda chance, at: Fault(at, "stick_server", seconds=_long(chance, 4)),
    "fail_over": lambda chance, at: Fault(at, "fail_over", value=_long(chance, 0.7), seconds=_long(chance, 3)),
    "fill_server": lambda chance, at: Fault(at, "fill_server", seconds=_long(chance, 6)),
    "crash_keeper": lambda chance, at: Fault(at, "crash_keeper", _node(chance)),
    "power_off": lambda chance, at: Fault(at, "power_off", _node(chance), seconds=_long(chance, 40)),
    "fail_starts": lambda chance, at: Fault(at, "fail_starts", _node(chance), 0.7, _long(chance, 15)),
    "fail_moves": lambda chance, at: Fault(at, "fail_moves", _node(chance), 0.7, _long(chance, 15)),
    "slow_jobs": lambda chance, at: Fault(at, "slow_jobs", _node(chance), _long(chance, 8), _long(chance, 20)),
    "stubborn": lambda chance, at: Fault(at, "stubborn", _node(chance), 0.7, _long(chance, 20)),
    "deaf_keeper": lambda chance, at: Fault(at, "deaf_keeper", _node(chance), 0.3, _long(chance, 10)),
    "crash_service": lambda chance, at: Fault(at, "crash_service", chance.choice(SERVICES)),
    "command": _command,
    "hostile": _hostile,
    "damage_snapshot": lambda chance, at: Fault(at, "damage_snapshot", value=chance.choice((0, 1, 2))),
    "trim": lambda _chance, at: Fault(at, "trim"),
}

# Profile -> kind of fault -> how often it comes beside the others.
PROFILES: Mapping[str, Mapping[str, float]] = {
    "operators": {"command": 8, "hostile": 1},
    "processes": {"kill": 4, "pause": 4, "leave": 2, "stay_down": 1, "reload": 0.3, "command": 3},
    "network": {"slow": 1, "lose_requests": 1, "lose_replies": 2, "cut": 3, "cut_node": 2, "command": 3, "kill": 1},
    "server": {
        "restart_server": 2,
        "stick_server": 2,
        "fail_over": 2,
        "fill_server": 1,
        "lose_replies": 1,
        "command": 3,
        "kill": 1,
        "damage_snapshot": 0.5,
        "trim": 0.5,
    },
    "nodes": {
        "crash_keeper": 2,
        "power_off": 2,
        "fail_starts": 1,
        "fail_moves": 1,
        "slow_jobs": 2,
        "stubborn": 1,
        "deaf_keeper": 1,
        "crash_service": 2,
        "command": 4,
        "kill": 1,
        "cut_node": 1,
    },
    "everything": dict.fromkeys(MAKERS, 1.0) | {"command": 5.0, "reload": 0.2},
}
# Seconds of faults, and between two of them, in the mean.
LASTS, BETWEEN = 240.0, 6.0


def make_story(seed: int, profile: str) -> list[Fault]:
    """Returns what goes wrong, in order."""
    chance = random.Random(f"story {seed} {profile}")  # noqa: S311 - it is to be repeated
    kinds, weights = list(PROFILES[profile]), list(PROFILES[profile].values())
    # Some stories are dense, some leave time to settle in between.
    between = BETWEEN * chance.choice((0.3, 1.0, 3.0))
    at, story = 5.0, []
    while (at := at + chance.expovariate(1 / between)) < LASTS:
        kind = chance.choices(kinds, weights)[0]
        story.append(MAKERS[kind](chance, round(at, 3)))
    return story
