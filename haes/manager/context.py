"""One round in progress: the working copy, the events so far, and what was derived from the state for this round."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from haes import settings
from haes.manager.inputs import Loads, RoundInputs
from haes.manager.rules_in_use import RulesInUse
from haes.scheduling.usage import BasicUsage, Usage, UsageProblem
from haes.state.batch import Batch
from haes.state.cluster import ClusterState


@dataclass(slots=True)
class Round:
    """What the parts of a round share.

    Attributes:
        state: the working copy; every event changes it at once.
        batch: the events of the round.
        inputs: the outside world.
        rules: affinity rules as compiled for this round.
        usage: loads as the scheduler mode sees them.
        loads: what was measured.
        modes: node -> mode of its agent, for nodes known when the round began.
        streak: consecutive rounds over the threshold, as it is after the round.
        missed: what had no load in the round before -> since when, and whether that was said.
        missing: the same for this round.
        online: the nodes that can take resources in this round.
    """

    state: ClusterState
    batch: Batch
    inputs: RoundInputs
    rules: RulesInUse
    usage: Usage = field(default_factory=lambda: BasicUsage(()))
    loads: Loads = field(default_factory=Loads)
    modes: Mapping[str, str] = field(default_factory=dict)
    streak: int = 0
    missed: Mapping[str, tuple[float, bool]] = field(default_factory=dict)
    missing: dict[str, tuple[float, bool]] = field(default_factory=dict)
    online: frozenset[str] = frozenset()

    def use(self, usage: Usage) -> None:
        """Takes a usage into use for the rest of the round."""
        self.usage = usage
        self.online = frozenset(usage.nodes())

    def crs(self, name: str) -> Any:
        """Returns a setting of the `crs` section."""
        return settings.crs(self.state.settings, name)

    def start_scores(self, resource: str) -> dict[str, float]:
        """Returns node -> score for starting a resource there, lower is better; empty when loads are not known."""
        try:
            return self.usage.start_scores(resource)
        except UsageProblem as problem:
            self.batch.emit(
                "usage.problem",
                resource,
                task="start",
                mode=self.state.scheduler,
                problem=str(problem),
                resource=resource,
            )
            return {}
