"""What another version of the program decided is checked for what it claims, and is not wrong for being another's."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from events.envelope import Event
from events.history import History
from replay.verify import Report, verify
from tests.golden.stored import HISTORIES, stored_log
from tests.replay.test_verify import CHOICE, SERIES, _live, _rewritten


@pytest.mark.parametrize("name", ["failing-migration"])
async def test_a_stream_that_does_not_say_who_decided_is_not_wrong(name: str) -> None:
    """A stream of the time before versions were recorded is sound although today's program decides otherwise."""
    report = await verify(History(stored_log(HISTORIES, name)))
    assert report.findings == []
    assert report.checks["decisions"].startswith("decided by another version (not recorded)")


def _as_another(event: Event, **payload: Any) -> Iterable[Event]:
    """Lets another version have decided, otherwise than this one."""
    if "policy_version" in event.payload:
        event = replace(event, payload={**event.payload, "program": "9.9.9", "policy_version": 99})
    return [replace(event, payload={**event.payload, **payload}) if event.n == CHOICE else event]


async def _verified(**payload: Any) -> Report:
    _, events = await _live("fa109", SERIES)
    return await verify(History(await _rewritten(events, lambda event: _as_another(event, **payload))))


async def test_another_choice_of_another_version_is_not_wrong() -> None:
    """Where the record says that another version decided, a divergence is said, and is no finding."""
    report = await _verified(method="other", alternatives=[])
    assert report.findings == []
    said = report.checks["decisions"]
    assert said.startswith("decided by another version (9.9.9, policy 99): ")
    assert f"{CHOICE - 1} events come out again" in said
    assert "the first that does not: balance.motion of balance" in said


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"target": "node9"}, "motion 1 is to node9, which is not online"),
        ({"target": "node1"}, "motion 1 is to node1, where fa:109 is"),
        ({"source": "node2"}, "motion 1 is from node2, fa:109 is on node1"),
        ({"after": 1.5}, "motion 1 raises the imbalance"),
        ({"streak": 0}, "motion 1 was issued after 0 rounds over the threshold, 3 are asked for"),
        ({"before": 0.0, "after": -1.0}, "motion 1 was issued at an imbalance of 0.0%, within the threshold of"),
        ({"policy": "time"}, "motion 1 is of policy time, set is series"),
    ],
)
async def test_what_another_version_claims_is_checked(payload: dict[str, Any], text: str) -> None:
    """Whoever decided, a motion must be possible, needed, and from where its members are to where they may go."""
    found = [finding for finding in (await _verified(**payload)).findings if finding.check == "claims"]
    assert [finding.n for finding in found] == [CHOICE]
    assert text in found[0].text
