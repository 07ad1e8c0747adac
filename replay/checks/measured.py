"""Motions of a live cluster are decided again from the samples beside the log; what comes out must be what is recorded.

The state is that of the event before; the samples are those of the window that ends with the one that the motion names.
They are kept for an hour or so: of older motions nothing can be said.
"""

from bisect import bisect_left
from collections.abc import Sequence

from events.envelope import Event
from events.log.side import SideEntry, place_of
from haes import settings
from haes.balancer.balance import balance
from haes.manager.context import Round
from haes.manager.inputs import Claim, RoundInputs
from haes.manager.loads import build_usage
from haes.manager.round import mode_of
from haes.manager.rules_in_use import build_rules
from haes.state.batch import Batch
from haes.state.cluster import ClusterState
from haes.telemetry import SampleWindow, taken_at
from haes.version import POLICY_VERSION
from replay.checks.check import Check
from replay.decisions import differing_fields, name_version

# What is decided again, and what it is called.
DECISIONS = {"balance.motion": "motion", "balance.plan": "plan"}


class Measured(Check):
    """Decides motions again whose samples are known."""

    name = "decisions"

    def __init__(self, samples: Sequence[SideEntry]) -> None:
        super().__init__()
        self._samples = samples
        self._places = [place_of(sample.id) for sample in samples]
        self._again = 0
        self._plans = 0
        self._expired = 0
        # Version -> how many of its motions this program would have decided otherwise.
        self._others: dict[str, int] = {}

    def before(self, event: Event, state: ClusterState) -> None:
        """See Check."""
        if event.type not in DECISIONS or event.payload.get("sample") is None:
            return
        window, is_whole = self._window(event.payload["sample"], event.payload.get("first_sample"), state)
        if window is None:
            self._expired += 1
            return
        again = decide_again(event, state, window)
        if again is not None and not (parts := differing_fields(event, again)):
            self._again += event.type == "balance.motion"
            self._plans += event.type == "balance.plan"
        elif not is_whole:
            self._expired += 1
        elif state.policy_version != POLICY_VERSION:
            version = name_version(state.program, state.policy_version)
            self._others[version] = self._others.get(version, 0) + 1
        elif again is None:
            what = DECISIONS[event.type]
            self.wrong(event, f"{what} {event.payload['number']}: decided again from its samples, no {what} comes out")
        else:
            what = f"{DECISIONS[event.type]} {event.payload['number']}"
            self.wrong(event, f"{what}: recorded / decided again from its samples: {parts}")

    def _window(self, last: str, first: str | None, state: ClusterState) -> tuple[SampleWindow | None, bool]:
        """Returns the samples up to one of them, and whether the first of the window is certainly still there.

        Args:
            last: the last sample.
            first: the first one; None where that is not on record, and follows from the setting.
            state: the state before the decision.
        """
        end = self._place(last)
        if end is None:
            return None, False
        if first is not None:
            begin = self._place(first)
            if begin is None:
                return None, False
            is_whole = True
        else:
            seconds = float(settings.crs(state.settings, "ha-load-average-window"))
            begin = bisect_left(self._samples, taken_at(self._samples[end]) - seconds, hi=end, key=taken_at)
            is_whole = begin > 0
        window = SampleWindow()
        for sample in self._samples[begin : end + 1]:
            window.add(sample)
        return window, is_whole

    def _place(self, name: str) -> int | None:
        """Returns where a sample lies, None when it is not there any more."""
        place = bisect_left(self._places, place_of(name))
        return place if place < len(self._places) and self._places[place] == place_of(name) else None

    @property
    def looked_at(self) -> int:
        """How many motions name samples."""
        return self._again + self._plans + self._expired + sum(self._others.values()) + len(self.findings)

    def end(self, state: ClusterState) -> str:  # noqa: ARG002 - see Check
        """See Check."""
        if not self.looked_at:
            return "not recorded: no motion names the samples that it was decided on"
        plans = f" and {self._plans} plans" if self._plans else ""
        said = f"{self._again} motions{plans} come out again from their samples"
        said += f"; the samples of {self._expired} have expired" if self._expired else ""
        for version, count in self._others.items():
            said += f"; {count} decided by another version ({version}), otherwise than this one does"
        return said


def decide_again(event: Event, state: ClusterState, window: SampleWindow) -> Event | None:
    """Returns the motion or the plan that the balancer comes to on a state and its samples, None when it does not.

    Args:
        event: the motion or plan as it is recorded.
        state: the state before it.
        window: the samples.
    """
    copy = state.working_copy()
    batch = Batch(copy, event.by, event.at)
    inputs = RoundInputs(
        at=event.at,
        node=event.by.partition("/")[0],
        online={node: node in state.present for node in state.members},
        quorate=True,
        claim_agent=lambda _node: Claim.REFUSED,
        loads=lambda: window.loads(copy),
        outside=True,
    )
    # The round in which it was issued counted itself.
    round_ = Round(copy, batch, inputs, build_rules(copy, copy.rules_nodes), streak=event.payload["streak"] - 1)
    round_.modes = {node: mode_of(round_, node) for node in copy.nodes}
    build_usage(round_)
    balance(round_)
    return next((again for again in batch.events if again.type == event.type), None)
