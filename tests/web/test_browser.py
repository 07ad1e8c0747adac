"""The page as people meet it: in a real browser, with what a cluster does while they look."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page as Tab
from playwright.async_api import async_playwright, expect

from tests.web.page import HOSTILE, TOKEN, Page

CHROMIUM = shutil.which("chromium")
# Milliseconds that the page may take on a busy machine; bounds, nothing is expected to be as slow.
SLOW = 20_000
# Nothing of a browser's own traffic leaves the machine.
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no browser here: apt-get install chromium"),
]


@pytest.fixture
async def tab(page: Page) -> AsyncIterator[Tab]:
    """Provides a tab with the page; whatever the browser complained about fails the test."""
    complaints: list[str] = []
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        context = await browser.new_context(viewport={"width": 1280, "height": 900})
        tab = await context.new_page()
        tab.set_default_timeout(SLOW)
        expect.set_options(timeout=SLOW)
        tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        await tab.goto(page.url)
        await expect(tab.locator("#headline")).to_contain_text("event 11")
        yield tab
        await browser.close()
    # A refusal that a test asks for is no fault of the page.
    assert [text for text in complaints if "status of 403" not in text] == []


async def test_the_page_follows_what_happens(page: Page, tab: Tab) -> None:
    """An event reaches an open page by itself: the node's state, the headline and a line of the journal."""
    await page.write(("node.unknown", "node3", {"previous": "online"}))
    await expect(tab.locator("#headline")).to_contain_text("event 12")
    await expect(tab.locator(".node", has_text="node3")).to_contain_text("unknown")
    await expect(tab.locator("#journal tr").first).to_contain_text("node.unknown")


async def test_the_slider_shows_the_cluster_as_it_was(page: Page, tab: Tab) -> None:
    """Dragged to an event, the page shows that moment and stays there while things go on, until asked for the present."""
    await page.write(("node.unknown", "node3", {"previous": "online"}))
    await expect(tab.locator("#headline")).to_contain_text("event 12")
    await tab.locator("#slider").fill("11")
    await expect(tab.locator("#headline")).to_contain_text("as it was at event 11")
    await expect(tab.locator(".node", has_text="node3")).to_contain_text("online")
    assert tab.url.endswith("#at=11")
    await page.write(("node.online", "node3", {"previous": "unknown"}))
    await tab.locator("#forth").click()
    await expect(tab.locator("#headline")).to_contain_text("as it was at event 12")
    await expect(tab.locator(".node", has_text="node3")).to_contain_text("unknown")
    await tab.locator("#live").click()
    await expect(tab.locator("#headline")).to_contain_text("event 13,")


async def test_a_shared_moment_opens_at_that_moment(page: Page, tab: Tab) -> None:
    """The address of a moment shows it to whoever opens it."""
    other = await tab.context.new_page()
    await other.goto(f"{page.url}/#at=5")
    await expect(other.locator("#headline")).to_contain_text("as it was at event 5")


async def test_names_from_the_cluster_are_text(tab: Tab) -> None:
    """A service whose name is HTML is shown to the letter and runs nothing."""
    await expect(tab.locator("#services button", has_text="onerror")).to_have_text(HOSTILE)
    assert await tab.title() == "HAES"
    assert await tab.locator("img").count() == 0


async def test_the_reason_is_one_click_away(tab: Tab) -> None:
    """A click on a service says why it is where it is; Escape leads back."""
    await tab.get_by_role("button", name="why is vm:1 where it is").click()
    await expect(tab.locator("#answer-text")).to_contain_text("vm:1")
    await tab.keyboard.press("Escape")
    await expect(tab.locator("#answer")).not_to_be_visible()


async def test_a_command_needs_a_token(page: Page, tab: Tab) -> None:
    """Without a token a command is refused in words; with one it is asked for in the name of its user."""
    await tab.get_by_role("button", name="why is vm:1 where it is").click()
    await tab.locator("#target").select_option("node2")
    await tab.locator("#token").fill("not a token of anybody")
    await tab.locator("#migrate").click()
    await expect(tab.locator("#answer-text")).to_contain_text("nobody's")
    await tab.locator("#token").fill(TOKEN)
    await tab.locator("#migrate").click()
    await expect(tab.locator("#answer-text")).to_contain_text("in the name of eve")
    assert await page.log.side.names("commands") == ["commands:eve"]


async def test_the_page_can_be_read_on_a_phone_and_in_the_dark(tab: Tab, tmp_path: Path) -> None:
    """At the width of a phone nothing runs out of the page, and dark colours are used where they are preferred."""
    await tab.set_viewport_size({"width": 390, "height": 800})
    await tab.emulate_media(color_scheme="dark")
    assert await tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    ground = await tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(21, 24, 28)"
    shot = await tab.screenshot(path=tmp_path / "phone.png")
    assert len(shot) > 1000
