"""The streams of every release stay sound for ever, and today's decisions are those that its version stands for."""

import hashlib
import json
from pathlib import Path

import pytest

from events.history import History
from haes.state.fold import fold
from haes.version import POLICY_VERSION, PROGRAM_VERSION
from replay.verify import verify
from tests.golden.stored import HISTORIES, RELEASES, stored_log
from tests.golden.test_histories import _only

STREAMS = [(path.parent, path.stem) for path in sorted(RELEASES.glob("*/*.json"))]
NAMES = [f"{folder.name}/{name}" for folder, name in STREAMS]
# Streams of the time before versions were recorded.
EARLIER = ("failing-migration", "live-pulled-plug", "shutdown-and-fencing")
HOW = "raise POLICY_VERSION in haes/version.py and run: python -m tests.golden.release"


def test_this_release_is_recorded() -> None:
    """No version of the decisions is without streams of its own."""
    assert (RELEASES / f"{PROGRAM_VERSION}-{POLICY_VERSION}").is_dir(), "run: python -m tests.golden.release"


@pytest.mark.parametrize("folder", sorted(path.name for path in RELEASES.iterdir()))
def test_no_file_of_a_release_was_edited(folder: str) -> None:
    """What was recorded stays as it was, byte for byte, and nothing was added or taken away."""
    lines = (RELEASES / folder / "SHA256SUMS").read_text().splitlines()
    recorded = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = {path.name: path for path in (RELEASES / folder).iterdir() if path.name != "SHA256SUMS"}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()} == recorded


@pytest.mark.parametrize(("folder", "name"), STREAMS, ids=NAMES)
async def test_the_stream_of_a_release_stays_sound(folder: Path, name: str) -> None:
    """Whatever program decided it, its stream folds to the recorded state, and verifying it finds nothing wrong."""
    log = stored_log(folder, name)
    state = json.loads(json.dumps(fold([event async for event in log.read_all()]).to_data()))
    recorded = json.loads((folder / f"{name}.json").read_text())
    assert _only(state, recorded) == recorded
    report = await verify(History(log))
    assert report.findings == []
    said, this = report.checks["decisions"], folder.name == f"{PROGRAM_VERSION}-{POLICY_VERSION}"
    assert not this or ("another version" not in said and "come out again" in said), HOW


@pytest.mark.parametrize("name", EARLIER)
async def test_what_does_not_say_who_decided_stays_sound(name: str) -> None:
    """Streams of earlier programs, which recorded no version, are sound, too."""
    assert (await verify(History(stored_log(HISTORIES, name)))).findings == []
