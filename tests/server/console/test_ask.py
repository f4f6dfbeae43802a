"""The page Ask in a real browser: the price while typing, the answer, the end of the budget, the keyboard alone."""

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PATIENCE, overflow, unnamed, visit
from support.in_postgres import in_database, locked, waiting
from support.postgres import Server, postgres
from support.seats import all_taken
from support.service import COUNT, Running, running
from support.service import clinic as built_clinic

__all__ = ["postgres"]

expect.set_options(timeout=PATIENCE)
REFUSED = ("status of 422", "status of 403")


@pytest.fixture
def ana(chromium: Browser, clinic: Running) -> Iterator[Page]:
    """The page as ana opens it."""
    with visit(chromium, clinic, "ana", expected=REFUSED) as page:
        expect(page.locator("#schema")).to_contain_text("visits")
        yield page


def spend(page: Page, amount: str, sql: str = COUNT) -> None:
    page.get_by_label("Spend ε").fill(amount)
    page.get_by_role("textbox", name="Your question").fill(sql)


def ask(page: Page, label: str = "Ask for") -> None:
    page.get_by_role("button", name=label).click()
    expect(page.locator("#running")).to_be_hidden()


def test_the_price_appears_while_typing_and_its_meaning_in_words(ana: Page) -> None:
    expect(ana.locator("#quote")).to_contain_text("Write a question")
    expect(ana.locator("#ask")).to_have_attribute("aria-disabled", "true")
    ana.get_by_role("textbox", name="Your question").press_sequentially("SELECT COUNT(*) AS n FROM visits", delay=1)
    expect(ana.locator("#quote .cost")).to_contain_text("0.15 ε")
    expect(ana.locator("#quote")).to_contain_text("1.85 ε would be left. About 12 more like this.")
    expect(ana.locator("#quote .expected")).to_contain_text("n ±")
    expect(ana.locator("#quote-said")).to_contain_text("Costs 0.15 ε")
    expect(ana.locator("#meaning")).to_contain_text("factor of at most 1.17")
    expect(ana.locator("#meaning")).to_contain_text("one particular patient")
    ana.get_by_label("Spend, from careful to precise").fill("120")
    expect(ana.locator("#amount")).to_have_value("3")
    expect(ana.locator("#meaning")).to_contain_text("factor of at most 20.1")
    expect(ana.locator("#quote")).to_contain_text("does not allow it")


def test_how_a_question_is_understood_is_told_on_request(ana: Page) -> None:
    spend(ana, "0.1", COUNT)
    ana.get_by_text("How it is understood").click()
    expect(ana.locator(".understood")).to_contain_text("private, patient_id says whose row it is")
    expect(ana.locator(".understood")).to_contain_text("How far one unit counts")


def test_a_mistake_is_told_in_place_with_its_fix(ana: Page) -> None:
    spend(ana, "0.1", "-- wards\nSELECT ward FROM visits")
    expect(ana.locator("#quote .note.bad")).to_contain_text("select COUNT(*)")
    expect(ana.locator(".lines mark")).to_have_text("2")
    expect(ana.locator("#ask")).to_have_attribute("aria-disabled", "true")
    ana.get_by_label("Spend ε").fill("much")
    expect(ana.locator("#amount")).to_have_attribute("aria-invalid", "true")
    expect(ana.locator("#quote")).to_contain_text("a number above 0")


def test_an_answer_has_a_table_a_chart_and_its_warnings(ana: Page) -> None:
    spend(ana, "0.5")
    ask(ana)
    answer = ana.locator("#answer")
    expect(answer).to_contain_text("paid 0.5 ε")
    expect(answer.get_by_role("row")).to_have_count(5)
    expect(answer.get_by_role("row").nth(1)).to_contain_text("±")
    expect(answer.get_by_role("img", name="Noisy answers for visits")).to_be_visible()
    assert ana.locator("#answer canvas").evaluate("canvas => canvas.width") > 100
    expect(answer.locator(".note.warn")).to_contain_text("beyond its clip")
    expect(ana.locator("#answer-said")).to_contain_text("4 rows, paid 0.5 ε")
    expect(answer.get_by_role("link", name="Certificate")).to_have_attribute("href", "/v1/releases/" + _shown(ana))


def _shown(page: Page) -> str:
    found: list[dict[str, str]] = page.evaluate("fetch('/v1/releases').then((answer) => answer.json())")["items"]
    return f"{found[0]['id']}/certificate"


def test_the_same_question_again_is_free(ana: Page, clinic: Running) -> None:
    spend(ana, "0.5")
    ask(ana)
    expect(ana.locator("#quote")).to_contain_text("Asked before.")
    ask(ana, "Ask again · free")
    expect(ana.locator("#answer")).to_contain_text("free: paid for before")
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"] == "1.5"
    ana.get_by_role("textbox", name="Your question").fill("select ward, count(*) as visits from visits group by ward")
    ask(ana, "Ask again · free")  # since it means the same
    expect(ana.locator("#answer")).to_contain_text("free: paid for before")
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"] == "1.5"


def test_the_error_comes_first_and_the_price_follows(ana: Page) -> None:
    ana.get_by_role("textbox", name="Your question").fill(COUNT)
    ana.get_by_label("Set the error").check()
    ana.get_by_label("Error at most").fill("100")
    expect(ana.locator("#quote .cost")).to_contain_text("0.6025 ε")
    expect(ana.locator("#quote .expected")).to_contain_text("visits ± 100")
    expect(ana.locator("#meaning")).to_contain_text("factor of at most 1.83")
    ask(ana)
    expect(ana.locator("#answer")).to_contain_text("paid 0.6025 ε")


def test_when_the_budget_is_spent_the_page_says_so(ana: Page, clinic: Running) -> None:
    spend(ana, "1.9")
    ask(ana)
    expect(ana.locator("#answer")).to_contain_text("paid 1.9 ε")
    spend(ana, "0.2", "SELECT COUNT(*) AS n FROM visits")
    expect(ana.locator("#quote .note.bad")).to_contain_text("You have 0.1 ε left")
    more = ana.get_by_role("link", name="ask a curator for more")
    expect(more).to_have_attribute("href", "/requests?dataset=clinic")
    ask(ana, "Ask · over budget")
    expect(ana.locator("#answer .note.bad")).to_contain_text("0.1")
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"] == "0.1"


def test_a_long_question_can_be_stopped_and_costs_no_more_later(ana: Page, clinic: Running) -> None:
    spend(ana, "0.5")
    expect(ana.get_by_role("button", name="Ask for 0.5")).to_be_visible()
    with all_taken(clinic.service.datasets._opened["clinic"].engine):  # somebody else's question has the engine
        ana.get_by_role("button", name="Ask for").click()
        expect(ana.get_by_role("progressbar", name="How far")).to_be_visible()
        expect(ana.locator("#ask")).to_have_attribute("aria-disabled", "true")
        ana.get_by_role("button", name="Cancel").click()
        expect(ana.locator("#toast")).to_contain_text("Stopped.")
        expect(ana.locator("#running")).to_be_hidden()
    ask(ana)
    expect(ana.locator("#answer").get_by_role("row")).to_have_count(5)
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"] == "1.5"


def test_where_data_have_no_version_a_question_keeps_its_key_until_it_is_changed(
    chromium: Browser, tmp_path: Path, postgres: Server
) -> None:
    with (
        postgres.database() as name,
        running(tmp_path, lambda folder: in_database(folder, postgres, name)) as service,
        visit(chromium, service, "ana", expected=REFUSED) as page,
    ):

        def left() -> str:
            return str(service.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"])

        spend(page, "0.5")
        with locked(postgres, name) as holder:
            page.get_by_role("button", name="Ask for 0.5").click()
            waiting(holder)  # it is charged, and reads
            page.get_by_role("button", name="Cancel").click()
            expect(page.locator("#toast")).to_contain_text("it is not paid for twice (key ")
            expect(page.locator("#running")).to_be_hidden()
        page.reload()
        page.get_by_label("Spend ε").fill("0.5")
        ask(page, "Ask for 0.5")
        expect(page.locator("#answer").get_by_role("row")).to_have_count(5)
        assert left() == "1.5"
        ask(page, "Ask again · free")
        expect(page.locator("#answer")).to_contain_text("free: paid for before")
        assert left() == "1.5"
        spend(page, "0.5", COUNT + " ")
        ask(page, "Ask for 0.5")
        assert left() == "1"


def test_names_and_examples_are_put_into_the_question(ana: Page) -> None:
    ana.get_by_role("button", name="How many by ward?").click()
    expect(ana.get_by_role("textbox", name="Your question")).to_have_value(
        "SELECT ward, COUNT(*) AS n\nFROM visits\nGROUP BY ward"
    )
    expect(ana.locator("#quote .cost")).to_be_visible()
    expect(ana.locator("#examples")).to_be_hidden()
    ana.get_by_role("button", name="Clear").click()
    ana.locator("#schema").get_by_role("button", name="age", exact=True).click()
    expect(ana.get_by_role("textbox", name="Your question")).to_have_value("age")
    expect(ana.locator("#schema")).to_contain_text("integer · 0 to 110 · never NULL")
    expect(ana.locator("#schema")).to_contain_text("keys: east, north, south, west")
    expect(ana.locator("#schema")).not_to_contain_text("code")  # a hidden column


def test_every_example_has_a_price(ana: Page) -> None:
    names = ana.locator("#examples button").all_inner_texts()
    assert len(names) == 5
    for name in names:
        ana.get_by_role("button", name="Clear").click()
        ana.get_by_role("button", name=name, exact=True).click()
        expect(ana.get_by_role("button", name="Ask for")).to_be_visible()


def test_an_earlier_answer_is_opened_again(ana: Page) -> None:
    spend(ana, "0.5")
    ask(ana)
    numbers = ana.locator("#answer table").inner_text()
    ana.get_by_role("button", name="Clear").click()
    ana.reload()
    ana.locator("#earlier").get_by_role("button", name="SELECT ward").click()
    expect(ana.locator("#answer")).to_contain_text("paid 0.5 ε then")
    assert ana.locator("#answer table").inner_text() == numbers
    expect(ana.get_by_role("textbox", name="Your question")).to_have_value(COUNT)
    expect(ana.locator("#amount")).to_have_value("0.5")


def test_an_answer_can_be_taken_along(chromium: Browser, tmp_path: Path) -> None:
    with (
        running(tmp_path, wire="127.0.0.1:0") as service,
        visit(chromium, service, "ana", permissions=["clipboard-read", "clipboard-write"]) as page,
    ):
        spend(page, "0.5")
        ask(page)
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        rows = list(csv.reader(download.value.path().read_text().splitlines()))
        assert rows[0] == ["ward", "visits", "visits_low", "visits_high", "visits_covers"]
        assert [row[0] for row in rows[1:]] == ["east", "north", "south", "west"]
        page.get_by_role("button", name="Copy as Python").click()
        expect(page.locator("#toast")).to_contain_text("Copied")
        code = page.evaluate("navigator.clipboard.readText()")
        told = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "TACIT_TOKEN": service.tokens["ana"]},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert all(each in told for each in ("east", "north", "south", "west"))
        left = service.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"]
        assert left == "1.5"  # the same question: free there too
        page.get_by_role("button", name="Copy as psql").click()
        expect(page.locator("#toast")).to_contain_text("psql")
        text = page.evaluate("navigator.clipboard.readText()")
        assert text.startswith('PGPASSWORD="$TACIT_TOKEN" psql -h 127.0.0.1 -p 0 -U ana -d clinic \\\n')
        assert arguments(text)[8:] == ["-c", "SET tacit.epsilon = 0.5", *ALWAYS, "-c", COUNT]
        for sql in HOSTILE:
            told = page.evaluate(AS_PSQL, sql)
            assert arguments(told)[-1] == sql.replace("\x1b", " ")


ALWAYS = ("-c", "SET tacit.confidence = 0.95", "-c", "SET tacit.intervals = on")
AS_PSQL = """async sql => (await import('/static/answer.js')).asPsql(
  sql, {epsilon: '0.5', confidence: '0.95'}, 'clinic', 'ana', '127.0.0.1:5432')"""
HOSTILE = (
    "SELECT 1 /*\nEND_OF_QUESTION\ntouch gone\n*/",
    "SELECT 'it''s' -- $(touch gone) `touch gone` \\! touch gone",
    "SELECT '\\'' \\! touch gone '",
    "SELECT 1 -- \x1b[201~",
)


def arguments(command: str) -> list[str]:
    """What psql is given by a command, as a shell reads it."""
    script = f"psql() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.split("\0")[:-1]


def test_the_keyboard_alone_is_enough(ana: Page) -> None:
    keyboard = ana.keyboard
    ana.locator("body").press("Tab")
    expect(ana.get_by_role("link", name="Skip to the content")).to_be_focused()
    keyboard.press("Enter")
    _tab_to(ana, "sql")
    keyboard.type("SELECT COUNT(*) AS n FROM visits")
    keyboard.press("Tab")  # leaves the editor
    expect(ana.locator("#sql")).not_to_be_focused()
    expect(ana.locator("#sql")).to_have_value("SELECT COUNT(*) AS n FROM visits")
    _tab_to(ana, "slider")
    before = ana.locator("#amount").input_value()
    keyboard.press("ArrowRight")
    assert float(ana.locator("#amount").input_value()) > float(before)
    expect(ana.get_by_role("button", name="Ask for")).to_be_visible()
    _tab_to(ana, "ask")
    keyboard.press("Enter")
    expect(ana.locator("#answer")).to_contain_text("paid 0.16 ε")
    ana.locator("#sql").focus()
    keyboard.press("End")
    keyboard.type(" WHERE age > 50")
    expect(ana.get_by_role("button", name="Ask for")).to_be_visible()
    keyboard.press("Control+Enter")
    expect(ana.locator("#earlier li")).to_have_count(2)


def _tab_to(page: Page, name: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    raise AssertionError(f"{name} cannot be reached with Tab")


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_everything_has_a_name(chromium: Browser, clinic: Running, width: int) -> None:
    with visit(chromium, clinic, "ana", viewport={"width": width, "height": 800}) as page:
        expect(page.locator("#meaning")).to_contain_text("factor")
        assert (overflow(page), unnamed(page)) == (0, [])
        spend(page, "0.5", "SELECT ward, drug, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward, drug")
        ask(page)
        expect(page.locator("#answer canvas")).to_be_visible()
        assert (overflow(page), unnamed(page)) == (0, [])


def in_rho(folder: Path) -> Path:
    """The clinic with a budget that is counted in rho."""
    path = built_clinic(folder)
    text = path.read_text(encoding="utf-8").replace(
        'currency = "epsilon"\nbudget = 3', 'currency = "rho"\nbudget = 0.5'
    )
    path.write_text(text.replace("limit = 2", "limit = 0.25").replace("limit = 1", "limit = 0.25"), encoding="utf-8")
    return path


def test_a_budget_in_rho_is_shown_in_rho(chromium: Browser, tmp_path: Path) -> None:
    with running(tmp_path, in_rho) as service, visit(chromium, service, "ana") as page:
        expect(page.locator("#amount")).to_have_value("0.025")
        page.get_by_role("textbox", name="Your question").fill(COUNT)
        expect(page.locator("#quote .cost")).to_contain_text("0.025 ρ")
        expect(page.locator("#quote")).to_contain_text("0.225 ρ would be left. About 9 more like this.")
        expect(page.locator("#meaning")).to_contain_text("Odds move by a factor of at most")
        ask(page, "Ask for 0.025 ρ")
        expect(page.locator("#answer")).to_contain_text("paid 0.025 ρ")
        expect(page.locator("#earlier")).to_contain_text("0.025 ρ")
        expect(page.get_by_role("button", name="Ask again · free")).to_be_visible()
        page.goto(f"{service.url}/budget")
        expect(page.locator('[data-holder="analyst:ana"]')).to_contain_text("0.225 ρ left")


def test_somebody_without_a_dataset_is_told(chromium: Browser, clinic: Running) -> None:
    with visit(chromium, clinic, "zoe") as page:
        expect(page.get_by_text("There is no dataset that you may ask")).to_be_visible()
        expect(page.get_by_role("link", name="Ask a curator for access")).to_have_attribute("href", "/requests")


def test_an_answer_is_folded_when_its_question_is_changed(ana: Page) -> None:
    spend(ana, "0.2")
    ask(ana)
    answer, old = ana.locator("#answer"), ana.get_by_text("This answers an earlier question.")
    expect(old).to_be_hidden()
    ana.get_by_role("textbox", name="Your question").fill(COUNT + " -- changed")
    expect(old).to_be_visible()
    expect(answer.get_by_role("table")).to_be_hidden()
    answer.get_by_role("button", name="Show it").click()
    expect(answer.get_by_role("table")).to_be_visible()
    ana.get_by_role("textbox", name="Your question").fill(COUNT)
    expect(old).to_be_hidden()
    expect(answer.get_by_role("table")).to_be_visible()


AT_MOST = "async number => (await import('/static/money.js')).atMost(number)"
RAISED = "async text => (await import('/static/money.js')).raised(text)"


def test_an_amount_is_shown_with_the_digits_that_matter_rounded_up(ana: Page) -> None:
    shown = {"4.999999999993905309": "5", "0.123401": "0.1235", "0.5": "0.5", "12345.6": "12350", "1e-7": "1e-7"}
    for paid, told in shown.items():
        assert ana.evaluate(RAISED, paid) == told


def test_a_bound_is_never_shown_smaller_than_it_is(ana: Page) -> None:
    bounds = {2.7141: "2.72", 2.718: "2.72", 1: "1", 0: "0", 1234.1: "1,240", 1e-6: "1.00e-6", 0.1 + 0.2: "0.3"}
    for bound, told in bounds.items():
        assert ana.evaluate(AT_MOST, bound) == told
