"""The recorded answers for 120 clusters: imbalance, both methods, start scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from haes.scheduling import topsis
from haes.scheduling.plan import Movable, Plan
from haes.scheduling.stats import NodeStats

TOP = 10
EXACT = 1e-12


def _cases(shared: Path) -> list[dict[str, Any]]:
    path = shared / "scheduling" / "cases.json"
    if not path.exists():
        pytest.skip("the recorded answers are not here")
    cases: list[dict[str, Any]] = json.loads(path.read_text())
    return cases


@pytest.mark.parametrize("small", [topsis.SMALL, 0], ids=["as defined", "in closed form"])
def test_the_answers_are_the_recorded_ones(shared: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    """Imbalance, the ten best motions by both methods, and start scores equal what was recorded, in order."""
    monkeypatch.setattr(topsis, "SMALL", small)
    cases = _cases(shared)
    assert len(cases) == 120
    for number, case in enumerate(cases):
        movables = [
            Movable((name,), values["node"], values["cpu"], values["mem"])
            for name, values in sorted(case["resources"].items())
        ]
        plan = Plan({name: NodeStats(**values) for name, values in case["nodes"].items()}, movables, {})
        expected = case["expect"]
        assert plan.imbalance() == pytest.approx(expected["imbalance"], abs=EXACT), number
        for method in ("bruteforce", "topsis"):
            found = plan.best(method, TOP)
            wanted = [(item["sid"], item["source"], item["target"]) for item in expected[method]]
            assert [(item.resource, item.source, item.target) for item in found] == wanted, (number, method)
            values = [item["imbalance"] for item in expected[method]]
            assert [item.imbalance for item in found] == pytest.approx(values, abs=EXACT), (number, method)
        scores = plan.start_scores(case["start"]["maxcpu"], case["start"]["maxmem"])
        assert scores == pytest.approx(expected["start_scores"], abs=EXACT), number
