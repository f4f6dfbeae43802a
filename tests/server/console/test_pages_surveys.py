"""The surveys' pages in a real browser: a curator makes one, and somebody answers it at once."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from support.browser import PATIENCE, overflow, unnamed, visit
from support.service import Running, running
from support.surveys import written

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

expect.set_options(timeout=PATIENCE)

PAGE = {"Accept": "text/html"}
EVIL = '<img src=x onerror=alert(1)> "]\\'


def fill(page: "Page", clinic: Running) -> None:
    """A survey with two questions, complete."""
    page.goto(f"{clinic.url}/surveys/new")
    page.get_by_label("Title").fill("How do we sleep?")
    first = page.get_by_role("group", name="Question 1")
    first.get_by_label("Question", exact=True).fill("Did you sleep well last night?")
    page.get_by_role("button", name="Add a question").click()
    second = page.get_by_role("group", name="Question 2")
    second.get_by_label("Question", exact=True).fill("What wakes you?")
    second.get_by_label("What is answered").select_option("choice")
    second.get_by_label("Options").fill(f"noise\n{EVIL}\n\nnothing")


def test_a_curator_makes_a_survey_and_somebody_answers_it(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "cora") as page:
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="Surveys").click()
        expect(page.get_by_text("There is no survey yet.")).to_be_visible()
        page.get_by_role("link", name="New survey").click()
        fill(page, clinic)
        expect(page.get_by_label("Short name").first).to_have_value("how-do-we-sleep")
        rows = page.locator("#forecast li")
        expect(rows).to_have_count(2)
        expect(rows.nth(0)).to_contain_text("With 5,000 answers expect ± 3.0 points.")
        expect(rows.nth(0)).to_contain_text("For ± 2 points it takes 11,243 answers.")
        page.get_by_label("ε of each respondent").fill("4")
        expect(rows.nth(0)).to_contain_text("With 5,000 answers expect ± 1.9 points.")
        page.get_by_label("Answers", exact=True).fill("100000")
        expect(rows.nth(0)).to_contain_text("With 100,000 answers expect ± 0.5 points.")
        expect(page.locator("#meaning")).to_contain_text("at most 98.3 % sure")
        page.get_by_role("button", name="Save and open it").click()
        page.wait_for_url("**/surveys#how-do-we-sleep")
        card = page.get_by_role("region", name="How do we sleep?")
        expect(card).to_contain_text("0 answered · 2 questions · ε = 4")
        expect(card.get_by_text("open", exact=True)).to_be_visible()
        card.get_by_role("link", name="Respond").click()
        page.wait_for_url("**/s/how-do-we-sleep")
    with visit(chromium, clinic) as page:  # nobody in particular
        page.goto(f"{clinic.url}/s/how-do-we-sleep")
        page.get_by_role("radio", name="Yes", exact=True).check()
        page.get_by_role("radio", name=EVIL).check()
        page.get_by_role("button", name="Toss the coins").click()
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_text("It was sent, and nothing else was.")).to_be_visible()
    (item,) = clinic.call("ana", "GET", "/v1/surveys").json()["items"]
    assert (item["survey"], item["submissions"]) == ("how-do-we-sleep", 1)


def test_what_is_wrong_is_said_where_it_was_typed_and_everywhere_at_the_end(
    clinic: Running, chromium: "Browser"
) -> None:
    with visit(chromium, clinic, "cora") as page:
        page.goto(f"{clinic.url}/surveys/new")
        epsilon = page.get_by_label("ε of each respondent")
        epsilon.fill("plenty")
        expect(page.get_by_text("Must be a number such as 0.5.")).to_be_visible()
        expect(page.get_by_text("Is needed.")).to_have_count(0)  # nobody was there yet
        expect(page.get_by_text("once the questions and ε are complete")).to_be_visible()
        page.get_by_role("button", name="Save and open it").click()
        expect(page.get_by_text("It is not complete.")).to_be_visible()
        expect(page.get_by_label("Title")).to_be_focused()
        assert epsilon.get_attribute("aria-invalid") == "true"
        page.get_by_label("Who asks").fill("The clinic")
        expect(page.locator("#toml")).to_contain_text("The clinic")
        expect(page.get_by_text("It is not complete.")).to_be_visible()  # it still is
        question = page.get_by_role("group", name="Question 1")
        question.get_by_label("What is answered").select_option("number")
        question.get_by_label("Least").fill("24")
        question.get_by_label("Greatest").fill("0")
        expect(question.get_by_text("the second larger")).to_be_visible()
        question.get_by_role("button", name="Remove question 1").click()
        expect(page.get_by_text("Add at least one question.")).to_be_visible()
    assert clinic.call("cora", "GET", "/v1/surveys").json() == {"items": []}


@pytest.mark.parametrize("width", [390, 1280])
def test_the_pages_fit_and_everything_has_a_name(tmp_path: Path, chromium: "Browser", width: int) -> None:
    with running(tmp_path, surveys=(written(tmp_path),)) as clinic, visit(chromium, clinic, "cora") as page:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{clinic.url}/surveys")
        expect(page.get_by_role("link", name="Results")).to_be_visible()
        assert (overflow(page), unnamed(page)) == (0, [])
        fill(page, clinic)
        for kind in ("several", "number", "text"):
            page.get_by_role("button", name="Add a question").click()
            page.get_by_label("What is answered").last.select_option(kind)
        expect(page.get_by_role("group")).to_have_count(5 + 1)  # and the file
        assert (overflow(page), unnamed(page)) == (0, [])


def test_who_sees_which_page(clinic: Running) -> None:
    for who, button, form in (("cora", True, 200), ("ana", False, 403), ("otto", False, 403), (None, False, 401)):
        shown = clinic.call(who, "GET", "/surveys", headers=PAGE)
        assert shown.status_code == (401 if who is None else 200)
        assert ("/surveys/new" in shown.text) is button
        assert clinic.call(who, "GET", "/surveys/new", headers=PAGE).status_code == form
