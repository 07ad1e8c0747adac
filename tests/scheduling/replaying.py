"""Makes the motions of a plan one by one on a snapshot, by arithmetic of its own, and says what is wrong with them."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

SLACK = 1e-9
Snapshot = Mapping[str, Any]


class Cluster:
    """A snapshot as a file holds it; nothing of the product is used to understand it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.nodes = snapshot["nodes"]
        self.resources = snapshot["resources"]
        self.ceiling = snapshot["settings"].get("ha-auto-rebalance-max-target-load", math.inf) / 100
        self.threshold = snapshot["settings"]["ha-auto-rebalance-threshold"] / 100
        self.only: dict[str, set[str]] = {}
        self.apart: list[set[str]] = []
        for section in snapshot.get("rules", "").split("\n\n"):
            lines = [line.strip().split(" ", 1) for line in section.strip().splitlines()]
            values = dict(lines[1:])
            if not values:
                continue
            members = set(values["resources"].split(","))
            if values.get("affinity") == "negative":
                self.apart.append(members)
            elif "nodes" in values:
                self.only.update({key: set(values["nodes"].split(",")) for key in members})

    def start(self) -> dict[str, str]:
        """Returns where every resource is at first."""
        return {name: values["node"] for name, values in self.resources.items()}

    def shares(self, places: Mapping[str, str], node: str) -> tuple[float, float]:
        """Returns the cpu share and the memory share of a node with resources at their places."""
        shares = []
        for key in ("cpu", "mem"):
            used = self.nodes[node][key]
            for name, values in self.resources.items():
                used += values[key] * ((places[name] == node) - (values["node"] == node))
            shares.append(used / self.nodes[node]["max" + key])
        return shares[0], shares[1]

    def imbalance(self, places: Mapping[str, str]) -> float:
        """Returns how unevenly the nodes are loaded."""
        loads = [sum(self.shares(places, node)) / 2 for node in self.nodes]
        mean = sum(loads) / len(loads)
        if len(loads) == 1 or not mean:
            return 0.0
        deviation = math.sqrt(sum((load - mean) ** 2 for load in loads) / len(loads))
        return deviation / mean / math.sqrt(len(loads) - 1)

    def broken_rules(self, places: Mapping[str, str]) -> list[str]:
        """Returns the rules that places break."""
        broken = [f"{name} on {places[name]}" for name, nodes in self.only.items() if places[name] not in nodes]
        for members in self.apart:
            used = [places[name] for name in sorted(members) if name in places]
            if len(set(used)) < len(used):
                broken.append(f"{sorted(members)} on {sorted(used)}")
        return broken

    def objection(self, places: Mapping[str, str], name: str, target: str) -> str | None:
        """Returns what speaks against a motion, or None."""
        if self.resources[name].get("auto-rebalance", 1) == 0:
            return f"{name} is not to be moved"
        if places[name] == target:
            return f"{name} is on {target} already"
        after = {**places, name: target}
        new = set(self.broken_rules(after)) - set(self.broken_rules(places))
        if new:
            return f"{name} to {target} breaks {sorted(new)}"
        share = max(self.shares(after, target))
        return f"{name} brings {target} to {share:.4f}" if share > self.ceiling + SLACK else None

    def at_rest(self, places: Mapping[str, str]) -> bool:
        """Returns whether rules, ceiling and threshold hold."""
        return (
            not self.broken_rules(places)
            and all(max(self.shares(places, node)) <= self.ceiling + SLACK for node in self.nodes)
            and self.imbalance(places) <= self.threshold + SLACK
        )

    def replay(self, motions: Sequence[Mapping[str, str]]) -> dict[str, str]:
        """Makes motions in order, asserting that each is allowed, and returns where everything is then."""
        places = self.start()
        for number, motion in enumerate(motions):
            name, target = motion["resource"], motion["target"]
            assert places[name] == motion["source"], (number, motion)
            assert self.objection(places, name, target) is None, (number, self.objection(places, name, target))
            places[name] = target
        return places

    def _next(self, places: Mapping[str, str]) -> Iterator[dict[str, str]]:
        for name in self.resources:
            for target in self.nodes:
                if self.objection(places, name, target) is None:
                    yield {**places, name: target}

    def fewest(self) -> tuple[int, float] | None:
        """Returns the fewest motions to rest and the lowest imbalance they lead to, by trying all; None if none do."""
        begin = self.start()
        seen = {tuple(begin.values())}
        level = deque([begin])
        count = 0
        while level:
            resting = [self.imbalance(places) for places in level if self.at_rest(places)]
            if resting:
                return count, min(resting)
            following: deque[dict[str, str]] = deque()
            for places in level:
                for after in self._next(places):
                    key = tuple(after.values())
                    if key not in seen:
                        seen.add(key)
                        following.append(after)
            level, count = following, count + 1
        return None
