"""What a new user does first works on every Python that is here: `make run`, `pip install .`, a wheel.

Slow, because packages are installed each time: `.ci/run` runs them with `make installed`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.install, pytest.mark.timeout(600)]

ROOT = Path(__file__).parent.parent.parent
# Every Python that the project's classifiers name.
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# Seconds for one step, the download of packages included.
LIMIT = 300


def _run(*words: str | Path, folder: Path) -> str:
    """Runs a program without what this process's environment would lend it, and returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return done.stdout


def _find_python(version: str) -> str | None:
    """Returns an interpreter of a version, of the PATH or of pyenv."""
    of_pyenv = sorted(map(str, (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python3")))
    for candidate in (shutil.which(f"python{version}"), *of_pyenv):
        if candidate is None:
            continue
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True, timeout=LIMIT, check=False)
        if said.returncode == 0 and said.stdout.startswith(f"Python {version}."):
            return candidate
    return None


@pytest.fixture(scope="module", params=VERSIONS)
def python(request: pytest.FixtureRequest) -> str:
    """Provides each Python that is here."""
    found = _find_python(request.param)
    if found is None:
        pytest.skip(f"no Python {request.param} is here")
    return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provides the project as it is versioned, without anything that was built from it."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in _run("git", "ls-files", "--cached", "--others", "--exclude-standard", folder=ROOT).splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provides the wheel that the project is built into."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = shutil.copytree(checkout, folder / "source")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, copy, folder=folder)
    [built] = folder.glob("*.whl")
    return built


def _lives(haes: Path, folder: Path) -> None:
    """Whatever was installed there runs a cluster on a server of its own and finds its record sound."""
    assert "usage: haes" in _run(haes, "--help", folder=folder)
    shutil.copytree(ROOT / "examples", folder / "examples")
    assert "imbalance" in _run(haes, "demo", folder=folder)
    assert "0 findings" in _run(haes, "verify", "--log", "embedded:var/demo", "--cluster", "demo", folder=folder)


def test_make_run_works(python: str, checkout: Path, tmp_path: Path) -> None:
    """In a fresh checkout the first command of the README sets itself up and ends with a balanced cluster."""
    copy = shutil.copytree(checkout, tmp_path / "haes")
    assert "imbalance" in _run("make", f"PYTHON={python}", "run", folder=copy)
    assert "tests" in _run(".venv/bin/pytest", "--collect-only", "-q", "tests/events", folder=copy)


def test_a_wheel_works(python: str, wheel: Path, tmp_path: Path) -> None:
    """The wheel brings everything that runs, and installs what it needs."""
    _run(python, "-m", "venv", tmp_path / "venv", folder=tmp_path)
    programs = tmp_path / "venv" / "bin"
    _run(programs / "pip", "install", "--quiet", wheel, folder=tmp_path)
    _lives(programs / "haes", tmp_path)


def test_pip_install_works(checkout: Path, tmp_path: Path) -> None:
    """`pip install .` in a fresh environment does the same."""
    _run(sys.executable, "-m", "venv", tmp_path / "venv", folder=tmp_path)
    programs = tmp_path / "venv" / "bin"
    copy = shutil.copytree(checkout, tmp_path / "source")
    _run(programs / "pip", "install", "--quiet", ".", folder=copy)
    _lives(programs / "haes", tmp_path)


def test_the_classifiers_name_these_pythons() -> None:
    """What is tried here is what the project promises."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for version in VERSIONS:
        assert f'"Programming Language :: Python :: {version}"' in text
    assert text.count('"Programming Language :: Python :: 3.') == len(VERSIONS)
