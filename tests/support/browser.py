"""A real Chromium for tests: one for each file, and visits in it that note whatever a page should not do."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from support.service import Running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

__all__ = ["PATIENCE", "chromium", "overflow", "unnamed", "visit"]

PATIENCE = 60_000.0  # ms; two cores may be busy


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Browser]":
    """The browser of one file of tests: while it is open there is an event loop, which other files may not want."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if find_spec("playwright") is None or program is None:
        pytest.skip("no Chromium here: install it, and pip install playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visit(
    browser: "Browser",
    service: Running,
    who: str | None = None,
    *,
    expected: tuple[str, ...] = (),
    away: tuple[str, ...] = (),
    **context: Any,
) -> "Iterator[Page]":
    """A page of a fresh browser profile, signed in as `who` by a link.

    At the end: nothing was asked of another origin than those `away`, no script failed, and the console said nothing
    but what is `expected` (parts of messages; a refused request is always told there).
    """
    errors: list[str] = []
    outside: list[str] = []
    opened = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
    opened.set_default_timeout(PATIENCE)
    page = opened.new_page()

    def said(message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning") and not any(part in message.text for part in expected):
            errors.append(message.text)

    page.on("console", said)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "request", lambda request: None if _ours(request.url, (service.url, *away)) else outside.append(request.url)
    )
    try:
        if who is not None:
            page.goto(f"{service.url}/signin?link={service.service.people.link(who)}")
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(lambda url: "/signin" not in url)
        yield page
    finally:
        opened.close()
    assert not errors, errors
    assert not outside, outside


def _ours(url: str, origins: tuple[str, ...]) -> bool:
    return url.startswith((*(f"{origin}/" for origin in origins), "data:", "blob:"))


def unnamed(page: "Page") -> list[str]:
    """What can be pressed or filled in and has no name that a screen reader could say."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], input, select, textarea, summary, [role=meter]")]
          .filter((each) => each.type !== "hidden" && each.checkVisibility())
          .filter((each) => !(each.ariaLabel || each.labels?.[0]?.textContent || each.textContent || "").trim())
          .map((each) => each.outerHTML.slice(0, 200))"""
    )
    return found


def overflow(page: "Page") -> int:
    """By how many pixels the page is wider than the window."""
    found: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return found
