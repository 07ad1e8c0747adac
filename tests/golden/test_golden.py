"""Golden bytes: whatever was ever written to a stream is read as what it meant then."""

import base64
import json
from pathlib import Path

import pytest

import events.catalog  # noqa: F401 - declares the event types
from events.codec import FIELDS, decode_entry
from events.schema import SCHEMAS

FOLDER = Path(__file__).parent / "events"
FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_golden_bytes_decode_for_ever(path: Path) -> None:
    """Recorded bytes decode to the recorded event, old versions to the current one."""
    golden = json.loads(path.read_text(encoding="utf-8"))
    flat = [item for name in FIELDS for item in (name, base64.b64decode(golden["entry"][name.decode()]))]
    event, expected = decode_entry(b"1764572323125-42", flat), golden["event"]
    type_, _, version = path.stem.rpartition(".")
    assert event.type == type_
    assert event.n == 42
    assert event.version == int(version) == expected["version"]
    for name in ("at", "cause", "correlation", "about", "epoch"):
        assert getattr(event, name) == expected[name]
    if event.version == SCHEMAS[type_].version:
        assert event.payload == expected["payload"]
    else:
        assert SCHEMAS[type_].required <= event.payload.keys()


def test_every_type_and_version_has_golden_bytes() -> None:
    """No event type enters the catalogue without golden bytes (`python tests/golden/make.py` adds them)."""
    catalogue = {name for name in SCHEMAS if not name.startswith("test.")}
    recorded = {path.stem for path in FILES}
    assert {f"{name}.{SCHEMAS[name].version}" for name in catalogue} <= recorded
