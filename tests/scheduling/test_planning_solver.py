"""The constraint solver, where it is installed, comes to the same numbers by another way."""

import json
import sys
from pathlib import Path

import pytest

from haes.cli.main import main
from haes.cli.snapshot import movables, snapshot_of
from haes.scheduling.planning import solver
from haes.scheduling.planning.building import problem_of

CASES_ASKED = 12


def test_the_solver_agrees_on_the_recorded_clusters(shared: Path) -> None:
    """Clusters with a proved number of motions get that number from the solver, too."""
    pytest.importorskip("ortools")
    cases = json.loads((shared / "planning" / "cases.json").read_text())
    for number, case in enumerate(cases[:CASES_ASKED]):
        snapshot = snapshot_of(case, Path("snapshot.json"))
        given = case["settings"]
        problem = problem_of(
            snapshot.nodes,
            movables(snapshot),
            snapshot.places,
            threshold=given["ha-auto-rebalance-threshold"] / 100,
            ceiling=given["ha-auto-rebalance-max-target-load"] / 100,
        )
        found = solver.solve(problem, 1, 10)
        assert found.motions is not None, number
        assert len(found.motions) == found.bound == case["expect"]["motions"], number


def test_asking_for_a_missing_solver_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the extra the option says what to install."""
    monkeypatch.setitem(sys.modules, "ortools", None)
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps({"nodes": {}, "resources": {}}))
    assert main(["plan", str(path), "--method", "plan", "--solver"]) == 2
    assert "pip install 'haes[planning]'" in capsys.readouterr().err
