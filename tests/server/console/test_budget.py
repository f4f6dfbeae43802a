"""The page Budget in a real browser: gauges that move, what was spent when, and who sees whom."""

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PATIENCE, overflow, unnamed, visit
from support.service import COUNT, Running
from tacit.server.auth.people import Identity

expect.set_options(timeout=PATIENCE)
TOTAL = "SELECT COUNT(*) AS n FROM visits"


def gauge(page: Page, holder: str) -> dict[str, str]:
    """What a gauge says to those who do not see it."""
    meter = page.locator(f'[data-holder="{holder}"]').get_by_role("meter").first
    expect(meter).to_be_visible()
    return {name: meter.get_attribute(f"aria-{name}") or "" for name in ("valuenow", "valuemax", "valuetext")}


def test_the_gauge_moves_with_every_answer(chromium: Browser, clinic: Running) -> None:
    with visit(chromium, clinic, "ana") as page:
        page.get_by_role("link", name="Budget").click()
        assert gauge(page, "analyst:ana")["valuenow"] == "0"
        expect(page.locator("#datasets")).to_contain_text("Nothing yet.")
        page.get_by_role("link", name="Ask this dataset").click()
        page.get_by_label("Spend ε").fill("0.5")
        page.get_by_role("textbox", name="Your question").fill(COUNT)
        page.get_by_role("button", name="Ask for").click()
        expect(page.locator("#answer")).to_contain_text("paid 0.5")
        page.get_by_role("link", name="Budget").click()
        text = "0.5 of 2 epsilon spent, 1.5 left"
        assert gauge(page, "analyst:ana") == {"valuenow": "0.5", "valuemax": "2", "valuetext": text}
        assert gauge(page, "dataset")["valuenow"] == "0.5"
        assert page.locator('[data-holder="analyst:ana"] rect').get_attribute("width") == "25%"
        own = page.locator('[data-holder="analyst:ana"]')
        expect(own).to_contain_text("About 3 more like the last one, which cost 0.5 ε")
        expect(page.get_by_role("img", name="What was spent over time, up to ana 0.5 epsilon")).to_be_visible()


def test_analysts_see_their_own_and_curators_and_auditors_everybodys(chromium: Browser, clinic: Running) -> None:
    for who, amount in (("ana", 0.5), ("ben", 0.25)):
        clinic.ask(who, TOTAL, epsilon=amount).raise_for_status()
    seen, told = {}, {}
    for who in ("ana", "cora", "otto"):
        with visit(chromium, clinic, who) as page:
            page.goto(f"{clinic.url}/budget")
            expect(page.locator(".chart canvas")).to_be_visible()
            seen[who] = page.locator("[data-holder]").evaluate_all("all => all.map((each) => each.dataset.holder)")
            page.get_by_text("As a table").click()
            told[who] = page.locator("tbody tr").all_inner_texts()
            assert page.get_by_role("link", name="Ask this dataset").count() == (0 if who == "otto" else 1)
    assert seen["ana"] == ["analyst:ana", "dataset"]
    assert seen["otto"] == ["dataset", "analyst:ana", "analyst:ben", "analyst:cora"]
    assert seen["cora"] == ["analyst:cora", "dataset", "analyst:ana", "analyst:ben"]
    assert len(told["ana"]) == 1
    assert "0.5 ε" in told["ana"][0]
    assert ["ana" in line or "ben" in line for line in told["cora"]] == [True, True]
    assert "0.25" not in "".join(told["ana"])


def test_a_window_ends_and_the_lifetime_is_beside_it(chromium: Browser, clinic: Running) -> None:
    path = clinic.service.config.datasets[0]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("budget = 3\n", 'budget = 3\nreset = "30 days"\nlifetime = 30\n'), encoding="utf-8")
    opened = clinic.service.datasets.find(Identity("cora", "curator"), "clinic")
    opened.ledger.apply(opened.policy.terms())
    clinic.ask("ana", TOTAL, epsilon=0.5).raise_for_status()
    with visit(chromium, clinic, "ana") as page:
        page.goto(f"{clinic.url}/budget")
        expect(page.locator('[data-holder="dataset"]')).to_contain_text("in this window, which ends")
        expect(page.locator('[data-holder="dataset"]')).to_contain_text("In its whole life: 0.5 of 30 ε")
        life = page.get_by_role("meter", name="in its whole life")
        assert life.get_attribute("aria-valuetext") == "0.5 of 30 epsilon spent in its whole life"
        expect(page.locator('[data-holder="analyst:ana"]')).to_contain_text("0.5 ε since the account was opened")


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_everything_has_a_name(chromium: Browser, clinic: Running, width: int) -> None:
    clinic.ask("ana", "SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug", epsilon=0.5).raise_for_status()
    with visit(chromium, clinic, "cora", viewport={"width": width, "height": 800}) as page:
        page.goto(f"{clinic.url}/budget")
        expect(page.locator(".chart canvas")).to_be_visible()
        expect(page.locator('[data-holder="analyst:ana"]')).to_contain_text("δ")
        assert (overflow(page), unnamed(page)) == (0, [])
