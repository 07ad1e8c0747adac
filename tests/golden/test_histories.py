"""Streams that were recorded once fold to the same states for ever, and one that was broken is refused for ever."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from events.archive import Segment, read_segment
from events.envelope import Event
from events.errors import LogFault
from events.log.checks import decode_after
from haes.state.fold import fold

FOLDER = Path(__file__).parent / "histories"
GOOD = sorted(path.name.removesuffix(".json") for path in FOLDER.glob("*.json"))
SUMS = dict(line.split("  ")[::-1] for line in (FOLDER / "SHA256SUMS").read_text().splitlines())


def _events(name: str, *, lenient: bool = False) -> Iterable[Event]:
    path = FOLDER / f"{name}.haes.gz"
    last = int(json.loads((FOLDER / f"{name}.json").read_text())["n"])
    return decode_after(0, list(read_segment(Segment(1, last, path))), lenient=lenient)


def test_there_are_histories() -> None:
    """Nothing that was recorded was taken away, and nothing lies there that nobody vouches for."""
    assert len(GOOD) >= 3
    assert {path.name for path in FOLDER.iterdir()} == {*SUMS, "SHA256SUMS"}


@pytest.mark.parametrize("name", sorted(SUMS))
def test_no_file_was_edited(name: str) -> None:
    """What was recorded stays as it was, byte for byte."""
    assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == SUMS[name]


@pytest.mark.parametrize("name", [name for name in GOOD if not name.startswith("refused")])
def test_a_history_folds_to_its_recorded_state(name: str) -> None:
    """Everything that was recorded of the state comes out again; later programs may know more, but nothing else."""
    recorded = json.loads((FOLDER / f"{name}.json").read_text())
    state = json.loads(json.dumps(fold(_events(name)).to_data()))
    assert _only(state, recorded) == recorded
    assert not recorded["parked"]


def test_a_broken_history_is_refused() -> None:
    """A stream with an event from no program stops a strict reader there, and parks its subject for a lenient one."""
    with pytest.raises(LogFault, match="event 1 "):
        # What was good before the broken event is decoded first; the read that begins with it raises.
        list(decode_after(0, [(b"1-1", [b"not", b"ours"])]))
    name = "refused-by-hand"
    recorded = json.loads((FOLDER / f"{name}.json").read_text())
    state = json.loads(json.dumps(fold(_events(name, lenient=True)).to_data()))
    assert _only(state, recorded) == recorded
    assert {subject: parked["n"] for subject, parked in recorded["parked"].items()} == {"process:web": 53, "vm:2": 54}
    assert len(list(_events(name))) == 52


def _only(found: object, wanted: object) -> object:
    """Returns what was found as far as something was recorded there."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return {key: _only(found[key], value) for key, value in wanted.items() if key in found}
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [_only(item, value) for item, value in zip(found, wanted, strict=True)]
    return found
