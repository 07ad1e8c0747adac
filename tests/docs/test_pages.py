"""Reference pages follow from the code, and the README speaks of what is there."""

import importlib.util
import re
from pathlib import Path

import pytest

from haes.cli.commands import COMMANDS

ROOT = Path(__file__).parent.parent.parent
_SPEC = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
assert _SPEC is not None
assert _SPEC.loader is not None
GENERATE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(GENERATE)


@pytest.mark.parametrize("name", sorted(GENERATE.PAGES))
def test_generated_pages_are_current(name: str) -> None:
    """What docs/generate.py would write is what lies there."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == GENERATE.PAGES[name]()


def test_every_dependency_is_justified() -> None:
    """Each package that the project names has its line in docs/dependencies.md."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    begin = text.index("dependencies = [")
    named = re.findall(r'^    "([A-Za-z0-9-]+)', text[begin : text.index("[project.scripts]")], re.MULTILINE)
    assert len(named) > 10
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert [name for name in named if name not in explained] == []


def test_the_readme_names_commands_and_files_that_exist() -> None:
    """Commands in the README exist, and so do the files that it links to."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {command for command in re.findall(r"bin/haes ([a-z]+)", text) if command not in COMMANDS} == set()
    assert [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not (ROOT / link).exists()] == []
