"""Writes a golden file for each event type and version that has none: the bytes as stored, and the event they mean.

Golden files are never changed, only added to: whatever was ever written must be readable for ever.
"""

import base64
import json
from pathlib import Path
from typing import Any

import events.catalog  # noqa: F401 - declares the event types
from events.codec import FIELDS, encode_fields
from events.envelope import Event
from events.schema import SCHEMAS, Schema

FOLDER = Path(__file__).parent / "events"
# Values that fields had in real streams; other fields get their own name.
VALUES: dict[str, Any] = {
    "after": 0.25,
    "alternatives": [{"resource": "vm:103", "source": "node1", "target": "node3", "after": 0.5}],
    "arguments": ["vm:101", "node2"],
    "attempts": 2,
    "before": 0.66,
    "changes": {"state": "stopped"},
    "command": 17,
    "cooldown_until": 860,
    "details": {"node": "node3"},
    "disarm": None,
    "dropped": [["pin", "resources", "too_few_resources", {}]],
    "excluded": [{"leader": "fa:109", "resource": "fa:109", "target": "node2", "reason": "backoff", "attempts": 1}],
    "exit_code": 1,
    "failed_nodes": ["node1", "node2"],
    "failures": 10,
    "first": 1,
    "first_series": 4,
    "id": 17,
    "job": 3,
    "last": 250,
    "last_online": 100,
    "left": {"node3": 100},
    "maintenance": False,
    "members": ["vm:101", "vm:102"],
    "minutes": 10,
    "nodes": ["node1", "node2", "node3"],
    "number": 4,
    "online": ["node1", "node2"],
    "reasons": ["a device is passed through"],
    "resources": {"vm:101": {"state": "started", "node": "node1"}},
    "rounds": 6,
    "rounds_left": 2,
    "running": 3,
    "scenario": {"name": "fa109"},
    "series": 2,
    "settings": {"crs": {"ha": "dynamic"}},
    "skip": 2,
    "steps": [{"resource": "vm:103", "source": "node1", "target": "node3", "after": 0.5}],
    "streak": 3,
    "timeout": 60,
    "unset": ["group"],
    "until": 320,
}


def sample(schema: Schema) -> Event:
    """Returns an event of a type with every field."""
    payload = {name: VALUES.get(name, name) for name in sorted(schema.required | schema.optional)}
    return Event(
        type=schema.type,
        subject="vm:101",
        by="node1/crm",
        at=1764572323.125,
        payload=payload,
        version=schema.version,
        epoch=7,
        about="a golden event: ü",
        cause="motion/4",
        correlation="command/17",
        n=42,
        id="1764572323125-42",
    )


def path_of(schema: Schema) -> Path:
    """Returns where the golden file of a type's current version lies."""
    return FOLDER / f"{schema.type}.{schema.version}.json"


def main() -> None:
    """Adds what is missing and leaves the rest alone."""
    for schema in SCHEMAS.values():
        path = path_of(schema)
        if path.exists():
            continue
        event = sample(schema)
        type_, subject, by, at, _epoch, about, data = encode_fields(event)
        values = (b"42", type_, subject, by, at, b"7", about, data)
        entry = {name.decode(): base64.b64encode(value).decode() for name, value in zip(FIELDS, values, strict=True)}
        expected = {
            "at": event.at,
            "payload": event.payload,
            "version": event.version,
            "cause": event.cause,
            "correlation": event.correlation,
            "about": event.about,
            "epoch": event.epoch,
        }
        path.write_text(json.dumps({"entry": entry, "event": expected}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
