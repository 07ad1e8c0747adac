"""The report on a rules file."""

import hashlib
from pathlib import Path

import pytest

from haes.cli.main import main
from haes.rules.report import check_report
from tests.rules.test_checks import NODES, apart, node, together

# How many rule configurations with reports lie in the shared folder.
WHOLE = 12


def test_reports_come_out_to_the_byte(shared: Path) -> None:
    """Each configuration beside the repository comes to the report that stands beside it, without a complaint."""
    paths = sorted((shared / "scenarios" / "rules").glob("*.cfg"))
    assert len(paths) == WHOLE
    for path in paths:
        expected = path.with_name(f"{path.name}.expect").read_text(encoding="utf-8")
        assert check_report(path.read_bytes().decode(), str(path), NODES) == (expected, []), path.name


def test_the_whole_report() -> None:
    """Messages, rules and relations, as JSON with sorted keys; a section that could not be used stands as null."""
    text = (
        together("lone", "vm:9")
        + node("pin", "vm:1", "node1:2", "strict 1", "comment ü", "disable 0")
        + node("bad", "vm:1", "node1.b")
        + node("near", "vm:2", "node2")
    )
    report, problems = check_report(text, "rules.cfg", ["node1", "node2"])
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    assert (
        report
        == f"""\
--- Log ---
Drop rule 'lone', because rule is ineffective as there are less than two resources.
--- Config ---
{{
   "digest" : "{digest}",
   "ids" : {{
      "bad" : null,
      "near" : {{
         "nodes" : {{
            "node2" : {{
               "priority" : 0
            }}
         }},
         "resources" : {{
            "vm:2" : 1
         }},
         "type" : "node-affinity"
      }},
      "pin" : {{
         "comment" : "ü",
         "disable" : 0,
         "nodes" : {{
            "node1" : {{
               "priority" : 2
            }}
         }},
         "resources" : {{
            "vm:1" : 1
         }},
         "strict" : 1,
         "type" : "node-affinity"
      }}
   }},
   "order" : {{
      "bad" : 3,
      "near" : 4,
      "pin" : 2
   }}
}}
--- Compiled Config ---
{{
   "node-affinity" : {{
      "vm:2" : {{
         "nodes" : {{
            "node1" : {{
               "priority" : -1
            }},
            "node2" : {{
               "priority" : 0
            }}
         }}
      }}
   }},
   "resource-affinity" : {{
      "negative" : {{}},
      "positive" : {{}}
   }}
}}
"""
    )
    assert [problem.key for problem in problems] == ["nodes", "nodes", "disable"]


def test_a_node_that_nobody_knows_is_named() -> None:
    """A rule for an unknown node does nothing, so rule, node, known nodes and the likely meaning are told."""
    _, problems = check_report(node("pin", "vm:1", "Node1,node2,far"), "rules.cfg", NODES)
    known = "known are node1, node2, node3"
    assert [str(problem) for problem in problems] == [
        f"rules.cfg: Node1: in rule 'pin' is not a node of this cluster; {known}; did you mean node1?",
        f"rules.cfg: far: in rule 'pin' is not a node of this cluster; {known}",
    ]


def test_a_contradiction_that_follows_is_named() -> None:
    """A bundle that follows a node rule onto the only node of what it must be apart from is told, though it stays."""
    text = together("aa", "vm:1,vm:2") + node("bb", "vm:1,vm:3", "node1", "strict 1") + apart("cc", "vm:2,vm:3")
    report, problems = check_report(text, "rules.cfg", NODES)
    assert report.startswith("--- Log ---\n--- Config ---\n")
    assert {"bb", "cc"} <= {problem.key for problem in problems}
    assert all("stays, although it cannot hold" in problem.text for problem in problems)


def test_overlaps_that_are_joined_step_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    """A rule that overlaps two bundles joins the first only; if that leads to a contradiction, it is told."""
    text = (
        together("aa", "vm:1,vm:5")
        + together("bb", "vm:2,vm:6")
        + together("cc", "vm:5,vm:6")
        + apart("dd", "vm:1,vm:2")
    )
    report, problems = check_report(text, "rules.cfg", NODES)
    assert "_merged-aa-cc" in report
    assert "bb" in {problem.key for problem in problems}


def test_line_ends_of_other_systems_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command reads bytes as they are: what would swallow a section is told, not papered over."""
    path = tmp_path / "rules.cfg"
    path.write_bytes((node("aa", "vm:1", "node1") + node("bb", "vm:2", "node1")).replace("\n", "\r\n").encode())
    assert main(["rules", "check", str(path), "--nodes", "node1,node2"]) == 0
    errors = capsys.readouterr().err
    assert f"warning: {path}: line 4: blank line: does not end the section" in errors
    assert "node-affinity: bb: is ignored with all its lines" in errors


@pytest.mark.parametrize("nodes", ["", " , ", "node1,no de", "node1:2", "node1.example.org"])
def test_bad_lists_of_nodes(tmp_path: Path, nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A list without nodes, or with something that cannot be one, is refused in one line."""
    path = tmp_path / "rules.cfg"
    path.write_text("")
    assert main(["rules", "check", str(path), f"--nodes={nodes}"]) == 2
    assert capsys.readouterr().err.startswith("haes: --nodes")


def test_files_that_are_not_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not UTF-8 is refused in one line."""
    path = tmp_path / "rules.cfg"
    path.write_bytes(b"\xff")
    assert main(["rules", "check", str(path), "--nodes", "node1"]) == 2
    assert capsys.readouterr().err.startswith(f"haes: {path}: cannot be read")
