"""What the page's server answers, asked as a browser or a program would."""

import asyncio
import json
import urllib.request
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from events.embedded import EmbeddedRedis
from events.log.side import START_ID
from haes.live.requests import KIND
from tests.web.page import HOSTILE, LIMIT, TOKEN, Page


async def _get(page: Page, path: str, status: int = 200, **headers: str) -> Any:
    found, _, text = await asyncio.to_thread(page.get, path, **headers)
    assert found == status, text
    return json.loads(text)


def _updates(page: Page, after: int, wanted: int) -> list[dict[str, Any]]:
    """Follows the stream until updates about so many events have come."""
    request = urllib.request.Request(page.url + "/api/stream", headers={"last-event-id": str(after)})  # noqa: S310
    updates: list[dict[str, Any]] = []
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:  # noqa: S310 - our own address
        for raw in answer:
            line = raw.decode()
            if line.startswith("data: "):
                update = json.loads(line[6:])
                updates.append(update)
                if sum(len(item.get("lines", ())) for item in updates) >= wanted:
                    break
    return updates


async def test_the_present_is_the_fold_of_the_log(page: Page) -> None:
    """What the page begins with is what the stream leads to, hostile names to the letter."""
    now = await _get(page, "/api/now")
    assert (now["n"], [node["node"] for node in now["nodes"]]) == (11, ["node1", "node2", "node3"])
    assert [row[0] for row in now["services"]] == sorted(["vm:1", HOSTILE])
    assert now["stale"] is None


async def test_every_point_of_the_past_is_shown_as_it_was(page: Page) -> None:
    """A number, the end and a time lead to the state as it was there; what is no point is refused in one line."""
    await page.write(("node.unknown", "node3", {"previous": "online"}))
    states = [(await _get(page, f"/api/at?point={n}"))["nodes"][2]["state"] for n in (11, 12)]
    assert states == ["online", "unknown"]
    assert (await _get(page, "/api/at?point=1"))["services"] == []
    error = (await _get(page, "/api/at?point=%3Cb%3E", status=400))["error"]
    assert error.startswith("'<b>' is no point in a stream; expected")
    assert await _get(page, "/api/span") == {"first": 1, "last": 12}


async def test_two_points_are_compared(page: Page) -> None:
    """What changed between two events is told by node and service."""
    await page.write(("node.unknown", "node3", {"previous": "online"}))
    lines = (await _get(page, "/api/compare?before=11&after=12"))["lines"]
    assert "node node3" in lines
    assert any("state: online -> unknown" in line for line in lines)


async def test_updates_resume_where_they_broke_off(page: Page) -> None:
    """A browser that comes back with the last id that it saw is told every event after it, once."""
    await page.write(("node.unknown", "node3", {"previous": "online"}))
    await page.write(("node.online", "node3", {"previous": "unknown"}))
    updates = await asyncio.to_thread(_updates, page, 11, 2)
    assert [line["n"] for update in updates for line in update.get("lines", ())] == [12, 13]
    again = await asyncio.to_thread(_updates, page, 12, 1)
    assert [line["n"] for update in again for line in update.get("lines", ())] == [13]


async def test_the_journal_is_searched_and_read_on(page: Page) -> None:
    """Lines come newest first, those that fit a search only, and the answer says where to go on."""
    found = await _get(page, "/api/journal?type=node.&limit=2")
    assert [line["type"] for line in found["lines"]] == ["node.online", "node.added"]
    rest = await _get(page, f"/api/journal?type=node.&before={found['next']}")
    assert len(rest["lines"]) == 4
    assert rest["next"] is None
    named = await _get(page, "/api/journal?search=ONERROR")
    assert {line["subject"] for line in named["lines"]} == {HOSTILE}


async def test_a_service_is_explained(page: Page) -> None:
    """Why a service is where it is comes in words; one that is not there is refused by name."""
    assert "vm:1" in (await _get(page, "/api/explain?service=vm:1"))["text"]
    assert "no service 'vm:9'" in (await _get(page, "/api/explain?service=vm:9", status=400))["error"]


async def test_a_command_carries_the_name_of_its_token(page: Page) -> None:
    """Whoever has a token asks in the name of the token's user, whatever else the request says."""
    wanted = {"verb": "migrate", "arguments": ["vm:1", "node2"], "user": "root"}
    status, _, text = await asyncio.to_thread(page.post, "/api/commands", wanted, authorization=f"Bearer {TOKEN}")
    assert status == 202, text
    [entry] = (await page.log.side.read({f"{KIND}:eve": START_ID}))[f"{KIND}:eve"]
    assert (entry.fields["verb"], json.loads(entry.fields["arguments"])) == (b"migrate", ["vm:1", "node2"])


@pytest.mark.parametrize(
    ("data", "headers", "status", "why"),
    [
        ({"verb": "migrate", "arguments": ["vm:1", "node2"]}, {}, 403, "nobody's"),
        ({"verb": "migrate", "arguments": []}, {"authorization": "Bearer wrong-wrong-wrong-wrong"}, 403, "nobody's"),
        ({"verb": "unconfigure", "arguments": ["vm:1"]}, {"authorization": f"Bearer {TOKEN}"}, 400, "allowed are"),
        ({"verb": "migrate"}, {"authorization": f"Bearer {TOKEN}"}, 400, "expected"),
        ({"verb": "migrate", "arguments": [1]}, {"authorization": f"Bearer {TOKEN}"}, 400, "list of texts"),
        ({}, {"authorization": f"Bearer {TOKEN}", "content-type": "text/plain"}, 415, "application/json"),
        ({"verb": "x" * 70_000}, {"authorization": f"Bearer {TOKEN}"}, 413, "bytes"),
    ],
)
async def test_nobody_else_and_nothing_else_is_let_through(
    page: Page, data: Any, headers: dict[str, str], status: int, why: str
) -> None:
    """Without a token, with another one, or with what is no command of the page, nothing is written."""
    found, _, text = await asyncio.to_thread(page.post, "/api/commands", data, **headers)
    assert (found, why in text) == (status, True), text
    assert await page.log.side.names(KIND) == []


async def test_other_names_do_not_lead_here(page: Page) -> None:
    """A name that somebody else's server resolves to this address is refused, so that its pages cannot read here."""
    status, _, _ = await asyncio.to_thread(page.get, "/api/now", host="evil.example")
    assert status == 400


async def test_a_browser_is_told_to_load_and_send_nothing_elsewhere(page: Page) -> None:
    """Page and answers forbid scripts, frames and connections that are not the page's own."""
    for path in ("/", "/api/now", "/static/page.js"):
        _, headers, _ = await asyncio.to_thread(page.get, path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


async def test_metrics_are_what_the_log_says(page: Page) -> None:
    """Prometheus reads positions, nodes and services; every name has a meaning and a unit or a kind."""
    await page.write(("node.unknown", "node3", {"previous": "online"}))
    async with asyncio.timeout(LIMIT):
        while True:
            _, _, text = await asyncio.to_thread(page.get, "/metrics")
            families = {family.name: family for family in text_string_to_metric_families(text)}
            if families["haes_log_position"].samples[0].value == 12:
                break
            await asyncio.sleep(0.05)
    nodes = {sample.labels["state"]: sample.value for sample in families["haes_nodes"].samples}
    assert nodes == {"online": 2, "unknown": 1}
    assert {sample.labels["type"]: sample.value for sample in families["haes_events"].samples} == {"node.unknown": 1}
    assert all(family.documentation for family in families.values())


async def test_ready_means_caught_up(server: EmbeddedRedis, page: Page) -> None:
    """The page says that it is ready while it follows the log, and why it is not when the server is gone."""
    assert (await asyncio.to_thread(page.get, "/readyz"))[::2] == (200, "ready\n")
    await server.stop()
    async with asyncio.timeout(LIMIT):
        while (answer := await asyncio.to_thread(page.get, "/readyz"))[0] == 200:
            await asyncio.sleep(0.05)
    assert answer[0] == 503
    assert "the log has not answered for" in answer[2]
    assert (await asyncio.to_thread(page.get, "/healthz"))[0] == 200
