"""What every page has: signing in and out, navigation by role, light and dark, pages for errors."""

import re

import pytest
from playwright.sync_api import Browser, expect

from support.browser import PATIENCE, overflow, unnamed, visit
from support.service import Running
from tacit.server.console.pages import FOLDER

expect.set_options(timeout=PATIENCE)


def test_a_link_brings_one_in_and_the_way_out_is_one_button(chromium: Browser, clinic: Running) -> None:
    with visit(chromium, clinic, "ana") as page:
        expect(page).to_have_url(f"{clinic.url}/ask")
        expect(page.locator(".who")).to_contain_text("ana")
        page.wait_for_load_state("networkidle")  # what the page still asks for would be refused afterwards
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/signin")
        expect(page.get_by_text("How to get a link")).to_be_visible()


def test_the_navigation_has_what_the_role_may_do(chromium: Browser, clinic: Running) -> None:
    shown = {}
    for who in ("ana", "otto", "cora"):
        with visit(chromium, clinic, who) as page:
            shown[who] = page.get_by_role("navigation").get_by_role("link").all_inner_texts()
    assert shown["ana"] == ["Ask", "Jobs", "Budget", "Surveys", "Markets", "Lab"]
    assert shown["otto"] == ["Budget", "Surveys", "Markets", "Curator", "Lab"]
    assert shown["cora"] == ["Ask", "Jobs", "Budget", "Surveys", "Markets", "Curator", "Lab"]


def test_light_and_dark_follow_the_system_until_one_chooses(chromium: Browser, clinic: Running) -> None:
    with visit(chromium, clinic, "otto", color_scheme="dark") as page:
        ground = "getComputedStyle(document.documentElement).backgroundColor"
        dark = page.evaluate(ground)
        page.get_by_role("button", name="Light or dark").click()
        light = page.evaluate(ground)
        assert light != dark
        page.reload()
        assert page.evaluate(ground) == light


def test_a_link_that_was_used_is_refused_on_a_page_that_says_so(chromium: Browser, clinic: Running) -> None:
    link = clinic.service.people.link("ana")
    assert clinic.service.people.sign_in(link) is not None
    with visit(chromium, clinic, expected=("status of 403",)) as page:
        page.goto(f"{clinic.url}/signin?link={link}")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="This link does not work")).to_be_visible()
        expect(page.get_by_text("Ask a curator for a new one")).to_be_visible()


def test_a_link_on_another_site_does_not_sign_one_out(chromium: Browser, clinic: Running) -> None:
    elsewhere = clinic.url.replace("127.0.0.1", "localhost")
    with visit(chromium, clinic, "ana", expected=("status of 401",), away=(elsewhere,)) as page:
        body = f'<a href="{clinic.url}/budget">x</a>'
        page.route(f"{elsewhere}/**", lambda route: route.fulfill(body=body, content_type="text/html"))
        page.goto(f"{elsewhere}/")
        page.get_by_role("link", name="x").click()
        expect(page.get_by_role("heading", name="Budget")).to_be_visible()


def test_pages_before_the_door_fit_and_everything_has_a_name(chromium: Browser, clinic: Running) -> None:
    with visit(chromium, clinic, expected=("status of 40",)) as page:
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            for path in ("/signin", "/signin?link=x", "/nothing", "/ask"):
                page.goto(clinic.url + path)
                assert (overflow(page), unnamed(page)) == (0, []), path


PAIRS = [
    *(("ink", ground) for ground in ("ground", "card", "sunk", "accent-wash", "warn-wash", "bad-wash", "good-wash")),
    *(("soft", ground) for ground in ("ground", "card", "sunk")),
    *(("accent", ground) for ground in ("ground", "card", "sunk")),
    *(("accent-strong", ground) for ground in ("card", "accent-wash")),
    *((kind, f"{kind}-wash") for kind in ("good", "warn", "bad")),
    ("accent-ink", "accent"),
    ("accent-ink", "accent-strong"),
    ("bad", "card"),
]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_stand_out_from_what_is_behind_them(scheme: int) -> None:
    """WCAG 2.2, success criterion 1.4.3: a contrast of 4.5 for texts; 1.4.11: of 3 for the edges of fields."""
    found = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", (FOLDER / "app.css").read_text())
    colours = {name: pair[scheme] for name, *pair in found}
    for front, back in PAIRS:
        assert contrast(colours[front], colours[back]) >= 4.5, (front, back)
    for back in ("card", "ground"):
        assert contrast(colours["edge"], colours[back]) >= 3, back


def contrast(one: str, other: str) -> float:
    dark, light = sorted(_luminance(colour) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_page_that_is_not_there_keeps_the_navigation(chromium: Browser, clinic: Running) -> None:
    with visit(chromium, clinic, "cora", expected=("status of 404",)) as page:
        for path in ("/nothing/here", "/curator/datasets/none"):
            page.goto(f"{clinic.url}{path}")
            expect(page.locator(".badge.bad")).to_have_text("404")
            expect(page.get_by_role("navigation").get_by_role("link")).to_have_count(7)
    with visit(chromium, clinic, expected=("status of 404", "status of 401")) as page:
        page.goto(f"{clinic.url}/nothing/here")
        expect(page.get_by_role("navigation")).to_have_count(0)


def test_pictures_of_the_lab_are_dark_where_the_page_is(chromium: Browser, clinic: Running) -> None:
    turned = "getComputedStyle(document.querySelector('.attack img')).filter"
    with visit(chromium, clinic, "ana", color_scheme="dark") as page:
        page.goto(f"{clinic.url}/lab")
        assert "invert" in page.evaluate(turned)
        page.get_by_role("button", name="Light or dark").click()
        assert page.evaluate(turned) == "none"


def test_a_dataset_is_a_short_page_on_a_phone(chromium: Browser, clinic: Running) -> None:
    with visit(chromium, clinic, "cora", viewport={"width": 390, "height": 800}) as page:
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        expect(page.locator("#limits")).to_contain_text("budget")
        assert page.evaluate("document.documentElement.scrollHeight") < 2 * 800
        page.get_by_role("heading", name="Ledger").click()
        expect(page.get_by_role("button", name="Verify it now")).to_be_visible()
