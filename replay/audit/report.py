"""Who commanded what, what was decided, what failed: the stream as an auditor reads it, one row an event."""

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from events.envelope import Event
from haes.journal import journal_lines

COMMANDED = frozenset({"command.received", "subject.unparked", "log.accepted", "node.fence_confirmed"})
ANSWERED = frozenset({"command.rejected", "command.ignored", "command.done"})
DECIDED = frozenset(
    {
        *(
            "resource.configured",
            "resource.unconfigured",
            "resource.migrate",
            "resource.relocate",
            "resource.recovered",
        ),
        *("resource.request_stop", "resource.fence", "settings.changed", "rules.changed", "groups.changed"),
        *("node.added", "node.removed", "node.fence", "node.fenced", "maintenance.requested", "maintenance.cleared"),
        *(
            "disarm.requested",
            "disarm.completed",
            "arm.requested",
            "leader.elected",
            "balance.motion",
            "balance.series",
        ),
        *("balance.paused", "balance.resumed", "balance.retried", "archive.written"),
    }
)
FAILED = frozenset(
    {
        *("job.start_failed", "job.stop_failed", "job.move_failed", "job.gave_up", "job.crashed", "resource.error"),
        *("resource.start_failed", "resource.motion_failed", "resource.stop_failed", "resource.recovery_failed"),
        *("balance.failed", "node.unknown", "node.watchdog_fired", "agent.deposed", "manager.declined"),
        *(
            "log.regressed",
            "log.unreadable",
            "log.foreign",
            "resource.stray_stopped",
            "resource.found",
            "agent.lost_agent_lock",
        ),
    }
)
# What spreadsheets take for a formula when a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Row:
    """One event as an auditor reads it; kind is commanded, answered, decided or failed."""

    n: int
    at: float
    kind: str
    who: str
    subject: str
    type: str
    text: str
    because_of: str


def rows(events: Iterable[Event]) -> list[Row]:
    """Returns the rows of a part of the stream; what is neither command, decision nor failure is left out."""
    found = []
    for event in events:
        kind = _kind(event.type)
        if kind is not None:
            found.append(
                Row(
                    event.n,
                    event.at,
                    kind,
                    event.payload["user"] if event.type == "command.received" else event.by,
                    event.subject,
                    event.type,
                    _text(event),
                    event.cause or event.correlation or "",
                )
            )
    return found


def _kind(type_: str) -> str | None:
    for kind, types in (("commanded", COMMANDED), ("answered", ANSWERED), ("decided", DECIDED), ("failed", FAILED)):
        if type_ in types:
            return kind
    return None


def _text(event: Event) -> str:
    if event.type == "command.received":
        return str(event.payload["text"])
    lines = [line.text for line in journal_lines(event)]
    return "; ".join(lines) or event.about


def to_csv(table: Iterable[Row]) -> str:
    """Returns rows as CSV; no cell can be taken for a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(list(Row.__dataclass_fields__))
    for row in table:
        writer.writerow([_plain(value) for value in asdict(row).values()])
    return out.getvalue()


def to_json_lines(table: Iterable[Row]) -> str:
    """Returns rows as one JSON object a line."""
    return "".join(json.dumps(asdict(row)) + "\n" for row in table)


def _plain(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
