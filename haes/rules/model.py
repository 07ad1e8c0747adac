"""What a rule is; knows no file format and no check."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Affinity = Literal["positive", "negative"]
AFFINITIES: tuple[Affinity, ...] = ("positive", "negative")


@dataclass(frozen=True, slots=True)
class NodeAffinityRule:
    """Resources that should (or, strictly, must) run on certain nodes.

    Attributes:
        resources: the resources.
        nodes: node -> priority from 0 on; a higher one is preferred.
        strict: whether no other node may be used; None where the rule does not say, which means no.
        disable: as the rule says; whatever it says, saying it disables the rule.
        comment: for people.
    """

    resources: frozenset[str]
    nodes: Mapping[str, int]
    strict: bool | None = None
    disable: bool | None = None
    comment: str | None = None

    @property
    def disabled(self) -> bool:
        """Whether the rule has no effect."""
        return self.disable is not None


@dataclass(frozen=True, slots=True)
class ResourceAffinityRule:
    """Resources that must be kept together (positive) or apart (negative).

    Attributes:
        resources: the resources.
        affinity: together or apart.
        disable: as the rule says; whatever it says, saying it disables the rule.
        comment: for people.
    """

    resources: frozenset[str]
    affinity: Affinity
    disable: bool | None = None
    comment: str | None = None

    @property
    def disabled(self) -> bool:
        """Whether the rule has no effect."""
        return self.disable is not None


Rule = NodeAffinityRule | ResourceAffinityRule


@dataclass(slots=True)
class RuleSet:
    """Rules, and the places of sections.

    Attributes:
        rules: id -> rule.
        order: id -> place in the configuration, from 1; sections that could not be used have a place, but no rule.
            Rules that are made up share places with others.
    """

    rules: dict[str, Rule] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)

    def next_order(self) -> int:
        """Returns the place of a rule that is made up: after the first one."""
        return min(self.order.values(), default=0) + 1

    def add(self, name: str, rule: Rule, order: int) -> None:
        """Adds a rule at a place, instead of another of that id."""
        self.rules[name] = rule
        self.order[name] = order

    def drop(self, name: str) -> None:
        """Takes a rule out, if it is there."""
        self.rules.pop(name, None)
        self.order.pop(name, None)
