"""Whatever a person reads is in words: no event type and no reason comes out as the program writes it for itself."""

import inspect
import re
from types import ModuleType
from typing import Any

import pytest

from events.envelope import Event
from events.schema import SCHEMAS
from haes.balancer import balance, choice, exclusions
from haes.journal import journal_lines
from haes.journal.balance_words import left_out, why_left_out, why_nothing
from haes.journal.command_texts import _ANSWERS
from haes.journal.resource_texts import _DROPPED
from haes.live.command_words import advice, why_dropped, why_ignored, why_refused
from replay.audit.report import rows
from replay.moments import say_moment
from replay.told import told
from tests.golden.make import sample

# Brackets and quotes of lists and dictionaries, and the names of values that only programs have.
PYTHON = re.compile(r"\[['\"\d{]|\{['\"\w]|\bNone\b|\bTrue\b|\bFalse\b|\(\)|\[\]|\{\}|<[a-z_.]+ object|Decimal|b'")
# For fields whose values decide on the text: one that the type's authors write.
CHOSEN: dict[str, dict[str, Any]] = {
    "command.rejected": {"reason": "not_allowed"},
    "command.ignored": {"reason": "already_there"},
    "groups.migration": {"step": "retry"},
    "agent.leaving": {"plan": "freeze"},
    "resource.removed": {"reason": "no_config"},
    "rules.applied": {"dropped": []},
    "balance.plan": {"steps": [], "bound": 2, "at_rest": True},
}


def _read(text: str) -> None:
    found = PYTHON.search(text)
    assert found is None, text


@pytest.mark.parametrize("type_", sorted(name for name in SCHEMAS if not name.startswith("test.")))
def test_every_event_is_told_in_words(type_: str) -> None:
    """The journal's lines and the auditors' rows of every type, with every field there is and with none that may miss."""
    schema = SCHEMAS[type_]
    whole = sample(schema)
    # Of these a field decides which others there are.
    fewer = schema.required | schema.optional if type_ in CHOSEN else schema.required
    for fields in (schema.required | schema.optional, fewer):
        payload = {name: value for name, value in whole.payload.items() if name in fields} | CHOSEN.get(type_, {})
        event = Event(type=type_, subject="vm:101", by="node1/crm", at=whole.at, payload=payload, n=1)
        for line in journal_lines(event):
            _read(told(line))
        for row in rows([event]):
            _read(row.text)


def _reasons(module: ModuleType, pattern: str) -> set[str]:
    return set(re.findall(pattern, inspect.getsource(module)))


@pytest.mark.parametrize(
    "reason",
    sorted(
        _reasons(balance, r'(?:refuse|_answer)\(round_, "(\w+)"')
        | _reasons(choice, r'(?:return|else|Choice\(candidates,) "(?!bruteforce)(\w+)"')
        | {"disarmed"}
    ),
)
def test_every_reason_of_the_balancer_has_words(reason: str) -> None:
    """With details and without, why nothing was done is a sentence of its own."""
    for details in (
        {"mode": "basic", "resource": "vm:1", "imbalance": 0.5, "until": 1764572323, "best": [], "excluded": []},
        {},
    ):
        text = why_nothing(reason, details, say_moment)
        _read(text)
        assert " " in text
        assert text != reason.replace("_", " ")
    refused = Event(type="balance.refused", subject="balance", by="n", at=0, payload={"reason": reason, "details": {}})
    assert advice(refused).startswith("nothing: ")


def test_every_exclusion_has_words() -> None:
    """What is left out is told with the resource, the target and why; a ceiling with the setting that sets it."""
    details = {
        "cooldown": {"until": 300},
        "backoff": {"attempts": 2, "why": "exit code 1", "until": 300},
        "node": {"why": "no space", "until": 300},
        "preflight": {"why": "no space", "until": 300},
        "ceiling": {"percent": 95.5},
        "flag": {},
        "sample": {},
        "parked": {},
    }
    assert details.keys() == set(
        re.findall(r'Exclusion\([^"]*"(\w+)"', inspect.getsource(exclusions) + inspect.getsource(choice))
    )
    for reason, more in details.items():
        item = {"leader": "vm:1", "resource": "vm:1", "target": "node2", "reason": reason, **more}
        _read(left_out(item, say_moment))
        assert why_left_out(reason) != reason
    ceiling = {"leader": "vm:1", "resource": "vm:1", "target": "node2", "reason": "ceiling", "percent": 95.5}
    assert left_out(ceiling, say_moment) == (
        "vm:1 to node2: would fill the node to 95.5%, over its ceiling (ha-auto-rebalance-max-target-load)"
    )


@pytest.mark.parametrize("reason", sorted(_ANSWERS))
def test_every_answer_has_words(reason: str) -> None:
    """Whatever a leader answers is told to the person who asked, without the names that programs use."""
    names = ("resource", "other", "target", "node", "state", "problem")
    payload = {"id": 1, "reason": reason, "text": "migrate vm:1 node2", "details": {name: name for name in names}}
    event = Event(type="command.ignored", subject="commands", by="n", at=0, payload=payload)
    for text in (why_refused(payload, ("vm:1", "node2"), ("node1",)), why_ignored(event, ("vm:1", "node2"))):
        _read(text)
        assert "_" not in text


@pytest.mark.parametrize("reason", [*sorted(_DROPPED), "unusable"])
def test_every_dropped_request_has_words(reason: str) -> None:
    """A motion that came to nothing says why."""
    assert "_" not in why_dropped("vm:1", {"reason": reason, "target": "node2"})
