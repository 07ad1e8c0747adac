"""What a rule is; knows no file format and no check."""

from dataclasses import dataclass, field
from typing import Literal

Affinity = Literal["positive", "negative"]


@dataclass(slots=True)
class NodeAffinityRule:
    """Resources that should (or, strictly, must) run on certain nodes; a higher number is preferred."""

    resources: set[str]
    nodes: dict[str, int]
    strict: bool | None = None
    disabled: bool = False
    comment: str | None = None


@dataclass(slots=True)
class ResourceAffinityRule:
    """Resources that must be kept together (positive) or apart (negative)."""

    resources: set[str]
    affinity: Affinity
    disabled: bool = False
    comment: str | None = None


Rule = NodeAffinityRule | ResourceAffinityRule


@dataclass(slots=True)
class RuleSet:
    """Rules by id, and the place of each in the configuration, from 1."""

    rules: dict[str, Rule] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)

    def next_order(self) -> int:
        """Returns the place of a rule that is made up: after the first one."""
        return min(self.order.values(), default=0) + 1
