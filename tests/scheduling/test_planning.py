"""Plans: the fewest motions to rest, every one allowed when it is made."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haes.cli.main import main
from haes.cli.plan import plan_ahead
from haes.cli.snapshot import movables, snapshot_of
from haes.scheduling.planning.planner import Planned
from tests.scheduling.replaying import Cluster

GIB = 2**30
# Few distinct sizes, so that ties, full nodes and swaps are the rule and not the exception.
SIZES = st.sampled_from([0.5, 1.0, 2.0, 3.0])


def _planned(case: dict[str, Any]) -> Planned:
    snapshot = snapshot_of(case, Path("snapshot.json"))
    return plan_ahead(snapshot, movables(snapshot))


def _motions(planned: Planned) -> list[dict[str, str]]:
    return [{"resource": item.resource, "source": item.source, "target": item.target} for item in planned.motions]


def test_the_recorded_clusters_come_to_rest_with_the_fewest_motions(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the 60 recorded clusters is at rest after as many motions as are proved to be the fewest."""
    cases = json.loads((shared / "planning" / "cases.json").read_text())
    assert len(cases) == 60
    for number, case in enumerate(cases):
        path = tmp_path / "snapshot.json"
        path.write_text(json.dumps(case))
        assert main(["plan", str(path), "--method", "plan", "--until-balanced", "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        cluster = Cluster(case)
        assert cluster.at_rest(cluster.replay(printed["motions"])), number
        assert len(printed["motions"]) == case["expect"]["motions"], number
        assert printed["plan"]["is_fewest"], number


@st.composite
def small_clusters(draw: st.DrawFn) -> dict[str, Any]:
    """Draws a cluster so small that all its placements can be tried."""
    nodes = [f"node{number}" for number in range(1, draw(st.integers(1, 3)) + 1)]
    classes = [draw(st.sampled_from([4, 8])) for _ in nodes]
    names = [f"vm:{100 + number}" for number in range(draw(st.integers(1, 5)))]
    resources: dict[str, Any] = {}
    for name in names:
        cpu, mem = draw(SIZES), draw(SIZES)
        resources[name] = {"node": draw(st.sampled_from(nodes)), "cpu": cpu, "mem": int(mem * GIB)}
        resources[name] |= {"maxcpu": 4, "maxmem": 8 * GIB}
        if draw(st.integers(0, 5)) == 0:
            resources[name]["auto-rebalance"] = 0
    case: dict[str, Any] = {"nodes": {}, "resources": resources}
    for node, size in zip(nodes, classes, strict=True):
        other = draw(st.sampled_from([0, 1]))
        there = [values for values in resources.values() if values["node"] == node]
        case["nodes"][node] = {
            "maxcpu": size,
            "maxmem": size * GIB,
            "cpu": other + sum(values["cpu"] for values in there),
            "mem": other * GIB + sum(values["mem"] for values in there),
        }
    case["settings"] = {
        "ha-auto-rebalance-threshold": draw(st.sampled_from([5, 15, 30])),
        "ha-auto-rebalance-margin": 0,
        "ha-auto-rebalance-max-target-load": draw(st.sampled_from([80, 90, 100])),
    }
    rules = []
    if len(names) > 1 and draw(st.booleans()):
        pair = draw(st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True))
        if len(nodes) > 1:
            rules.append(f"resource-affinity: apart\n\tresources {','.join(pair)}\n\taffinity negative\n")
    if draw(st.booleans()):
        name = draw(st.sampled_from(names))
        some = draw(st.lists(st.sampled_from(nodes), min_size=1, unique=True))
        # Beside a rule that keeps apart, too few nodes would make the rules contradict each other.
        if not rules or (len(some) > 1 and name not in rules[0]):
            rules.append(f"node-affinity: only\n\tresources {name}\n\tnodes {','.join(some)}\n\tstrict 1\n")
    case["rules"] = "\n".join(rules)
    return case


@settings(max_examples=150)
@given(small_clusters())
def test_a_plan_is_as_short_and_as_even_as_trying_everything_finds(case: dict[str, Any]) -> None:
    """On small clusters a plan has exactly the fewest motions and then the lowest imbalance of all that exist."""
    cluster, planned = Cluster(case), _planned(case)
    places = cluster.replay(_motions(planned))
    best = cluster.fewest()
    if best is None:
        assert not cluster.at_rest(places)
        return
    assert cluster.at_rest(places)
    assert len(planned.motions) == best[0]
    assert planned.bound <= best[0]
    if planned.is_best:
        assert cluster.imbalance(places) == pytest.approx(best[1], abs=1e-9)


def _two_nodes(**settings_: Any) -> dict[str, Any]:
    """Returns two nodes whose units must swap: the full one has no room for what would even things out."""
    node = {"maxcpu": 10, "maxmem": 10 * GIB}
    sizes = {"vm:100": ("node1", 6), "vm:101": ("node1", 3), "vm:102": ("node2", 4)}
    return {
        "nodes": {"node1": {**node, "cpu": 9, "mem": 9 * GIB}, "node2": {**node, "cpu": 4, "mem": 4 * GIB}},
        "resources": {
            name: {"node": where, "cpu": size, "mem": size * GIB, "maxcpu": size, "maxmem": size * GIB}
            for name, (where, size) in sizes.items()
        },
        "settings": {
            "ha-auto-rebalance-threshold": 10,
            "ha-auto-rebalance-margin": 0,
            "ha-auto-rebalance-max-target-load": 80,
            **settings_,
        },
    }


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (_two_nodes(), "one motion to rest; fewer cannot do it\nvm:101: node1 to node2, imbalance 7.7%\n"),
        (_two_nodes(**{"ha-auto-rebalance-threshold": 50, "ha-auto-rebalance-max-target-load": 95}), "at rest\n"),
        (
            _two_nodes(**{"ha-auto-rebalance-threshold": 5}),
            "no way to rest was found; after one motion there is left: imbalance 7.7%\n"
            "vm:101: node1 to node2, imbalance 7.7%\n",
        ),
    ],
)
def test_a_plan_says_what_is_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: dict[str, Any], text: str
) -> None:
    """Above the motions stands in words whether they lead to rest and whether fewer could."""
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(case))
    assert main(["plan", str(path), "--method", "plan"]) == 0
    assert capsys.readouterr().out.endswith(text)


def test_a_plan_must_be_worth_the_margin() -> None:
    """A plan that only slips under the threshold is none where the margin asks for more."""
    case = _two_nodes(**{"ha-auto-rebalance-max-target-load": 95})
    assert len(_planned(case).motions) == 1
    case["settings"]["ha-auto-rebalance-margin"] = 95
    planned = _planned(case)
    assert not planned.after.at_rest()
    assert not planned.motions


def test_a_plan_explains_draws_and_compares_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it is for, what each motion does to its nodes, bars before and after, and the other way beside it."""
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(_two_nodes()))
    assert main(["plan", str(path), "--method", "plan", "--why", "--draw", "--compare"]) == 0
    printed = capsys.readouterr().out
    assert "why: over the ceiling of 80%: node1; an imbalance of 38.5%\n" in printed
    assert "1. vm:101: node1 to node2\n     node1: cpu 90% to 60%, memory 90% to 60%\n" in printed
    assert "before\n  node1 cpu ██████████████████··  90% memory ██████████████████··  90%\n" in printed
    lines = printed.splitlines()
    assert lines[-3].split() == [
        "motions",
        "GiB",
        "moved",
        "fullest",
        "target",
        "imbalance",
        "after",
        "over",
        "ceiling",
    ]
    assert lines[-1].split() == ["plan", "1", "3.0", "70.0%", "7.7%", "0"]
    assert max(len(line) for line in lines) <= 80
