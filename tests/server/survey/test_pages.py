"""The respondent's page in a real Chromium: what leaves the device is what was shown, once, and never the answer."""

import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Request, expect

from support.browser import visit
from support.channel import p_value
from support.service import Running, running
from support.surveys import SLEEP, sleep, written
from tacit.survey.device import Device

LOST = ("Failed to load resource", "net::ERR")  # what a browser says itself when there is no network


def answer(page: Page, *, well: bool = True, wakes: str = "worries", hours: str = "7.25") -> None:
    page.get_by_role("radio", name="Yes" if well else "No", exact=True).check()
    page.get_by_role("radio", name=wakes).check()
    page.get_by_role("checkbox", name="pills").check()
    page.get_by_role("spinbutton").fill(hours)


def memo(page: Page) -> Any:
    return json.loads(page.evaluate("localStorage.getItem('tacit-survey:sleep')"))


def size(polled: Running) -> int:
    assert polled.service.surveys is not None
    return polled.service.surveys.store.size(sleep())


def watched(page: Page) -> list[Request]:
    """Everything that is asked of the network from now on, by the page or by its worker."""
    seen: list[Request] = []
    page.context.on("request", lambda request: seen.append(request))
    return seen


def test_only_the_randomised_report_leaves(chromium: Browser, polled: Running) -> None:
    with visit(chromium, polled) as page:
        seen = watched(page)
        page.goto(f"{polled.url}/s/sleep")
        answer(page)
        page.get_by_role("button", name="Toss the coins").click()
        shown = page.locator("#body").text_content() or ""
        codes = dict(
            zip(("slept", "wakes", "takes", "hours"), page.locator(".leaves code").all_inner_texts(), strict=True)
        )
        assert size(polled) == 0, "nothing is sent before it was seen"
        assert not [each for each in seen if each.method != "GET"]
        expect(page.locator(".own").first).to_have_text("“yes”")
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_text("It was sent, and nothing else was.")).to_be_visible()
        posts = [each for each in seen if each.method != "GET"]
        assert [each.post_data for each in posts] == [shown]
        sent = json.loads(shown)
        assert sent["reports"] == codes
        assert sent["version"] == sleep().version
        for each in seen:  # what was answered is in no address, header or body
            told = f"{each.url} {each.post_data or ''} {json.dumps(each.all_headers())}"
            assert "7.25" not in told
            assert "worries" not in told
            assert "cookie" not in {name.lower() for name in each.all_headers()}
    surveys = polled.service.surveys
    assert surveys is not None
    for name in sleep().questions:
        assert [report.hex() for report in surveys.store.reports(sleep(), name)] == [codes[name]]


DRAWN = """
async given => {
  const {randomise} = await import("/survey-static/tacit-survey.js");
  const question = JSON.parse(document.getElementById("terms").textContent).questions.find(q => q.name === given.name);
  return Array.from({length: given.count}, () => randomise(question, given.answer).join());
}
"""


@pytest.mark.parametrize(("name", "answer", "value"), [("slept", 1, 1), ("wakes", 3, 3), ("takes", [0, 2], 5)])
def test_the_coins_of_the_page_have_the_law(
    chromium: Browser, polled: Running, name: str, answer: Any, value: int
) -> None:
    with visit(chromium, polled) as page:
        page.goto(f"{polled.url}/s/sleep")
        drawn = page.evaluate(DRAWN, {"name": name, "answer": answer, "count": 20_000})
    exact = sleep().protocols[name].law(value)
    law: dict[Hashable, float] = {",".join(map(str, report)): float(p) for report, p in exact.items()}
    assert p_value(law, drawn) > 1e-9


def test_a_reload_keeps_the_coins_and_sends_nothing_new(chromium: Browser, polled: Running) -> None:
    with visit(chromium, polled) as page:
        page.goto(f"{polled.url}/s/sleep")
        answer(page)
        page.get_by_role("button", name="Toss the coins").click()
        before = memo(page)
        assert "worries" not in json.dumps(before), "the answer is not kept"
        page.reload()
        expect(page.get_by_text("They are not tossed again")).to_be_visible()
        expect(page.locator("form")).to_be_hidden()
        assert size(polled) == 0, "and is not sent without a word from its owner"
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_text("It was sent, and nothing else was.")).to_be_visible()
        seen = watched(page)
        page.reload()
        expect(page.get_by_text("This device has answered")).to_be_visible()
        assert memo(page) == {**before, "state": "sent"}
        assert not [each for each in seen if each.method != "GET"]
    assert size(polled) == 1


def test_two_tabs_toss_once(chromium: Browser, polled: Running) -> None:
    with visit(chromium, polled) as page:
        other = page.context.new_page()
        for tab in (page, other):
            tab.goto(f"{polled.url}/s/sleep")
            answer(tab)
        page.get_by_role("button", name="Toss the coins").click()
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_text("It was sent, and nothing else was.")).to_be_visible()
        other.get_by_role("button", name="Toss the coins").click()
        expect(other.get_by_text("They are not tossed again.")).to_be_visible()
        assert page.locator("#body").text_content() == other.locator("#body").text_content()
        expect(page.locator(".coin")).to_have_count(4)
        expect(other.locator(".coin")).to_have_count(0)  # it tossed none
    assert size(polled) == 1


def test_offline_and_sent_later(chromium: Browser, polled: Running) -> None:
    with visit(chromium, polled, expected=LOST) as page:
        page.goto(f"{polled.url}/s/sleep")
        page.evaluate("navigator.serviceWorker.ready")
        page.wait_for_function("caches.match('/s/sleep').then(Boolean)")
        page.wait_for_function("caches.match('/survey-static/tacit-survey.js').then(Boolean)")
        page.context.set_offline(True)
        page.reload()  # from what is kept
        answer(page)
        page.get_by_role("button", name="Toss the coins").click()
        before = memo(page)
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_text("It could not be sent now")).to_be_visible()
        page.reload()
        expect(page.get_by_text("It could not be sent now")).to_be_visible()
        page.context.set_offline(False)
        expect(page.get_by_text("It was sent, and nothing else was.")).to_be_visible()
        assert memo(page) == {**before, "state": "sent"}
    assert size(polled) == 1


def test_what_is_missing_is_said_at_its_question(chromium: Browser, polled: Running) -> None:
    with visit(chromium, polled) as page:
        page.goto(f"{polled.url}/s/sleep")
        answer(page, hours="99")
        page.get_by_role("button", name="Toss the coins").click()
        expect(page.get_by_role("alert")).to_have_text("Please give a number in the range.")
        expect(page.get_by_role("spinbutton")).to_be_focused()
        assert page.evaluate("localStorage.getItem('tacit-survey:sleep')") is None, "no coin was tossed"
        page.get_by_role("spinbutton").fill("9")
        page.get_by_role("button", name="Toss the coins").click()
        expect(page.get_by_role("heading", name="What will be sent")).to_be_visible()


def test_a_refusal_is_told(chromium: Browser, polled: Running) -> None:
    with visit(chromium, polled, expected=LOST) as page:
        page.goto(f"{polled.url}/s/sleep")
        answer(page)
        page.get_by_role("button", name="Toss the coins").click()
        surveys = polled.service.surveys
        assert surveys is not None
        surveys.known = {"sleep": sleep(closes="2020-01-01")}
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_text("it closed at 2020-01-01")).to_be_visible()


@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_a_phone_and_every_field_has_a_name(chromium: Browser, polled: Running, width: int) -> None:
    with visit(chromium, polled, viewport={"width": width, "height": 720}, color_scheme="dark") as page:
        page.goto(f"{polled.url}/s/sleep")
        expect(page.get_by_role("group")).to_have_count(5)  # four questions, and a part that opens
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) == 0
        unnamed = page.locator("input").evaluate_all(
            "all => all.filter(i => !i.labels.length && !i.getAttribute('aria-label')).length"
        )
        assert unnamed == 0
        answer(page)
        page.keyboard.press("Enter")  # in the last field: the form is sent by the keyboard too
        expect(page.get_by_role("heading", name="What will be sent")).to_be_visible()
        assert page.evaluate(wide) == 0


def test_results_show_bars_when_a_batch_is_full(chromium: Browser, polled: Running) -> None:
    with polled.client() as client:
        for count in range(45):
            if count == 3:
                with visit(chromium, polled, "ana") as page:
                    page.goto(f"{polled.url}/s/sleep/results")
                    expect(page.get_by_text("Nothing is shown before there are 5 reports; 3 are here.")).to_be_visible()
                    expect(page.get_by_text("Too few reports yet.")).to_have_count(4)
            _report(client)
    with visit(chromium, polled, "ana", viewport={"width": 360, "height": 720}) as page:
        page.goto(f"{polled.url}/s/sleep/results")
        expect(page.get_by_text("45 reports are counted here")).to_be_visible()
        expect(page.locator("svg.bar")).to_have_count(2 + 5 + 3 + 1)
        expect(page.get_by_role("rowheader", name="a child <3")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        assert download.value.path().read_text().startswith("question,answer,unit,estimate")


def _report(client: httpx.Client) -> None:
    made = Device(sleep()).answer({"slept": True, "wakes": "noise", "takes": ["tea"], "hours": 7.5})
    assert client.post("/v1/surveys/sleep/reports", content=made.json()).json() == {"counted": True}


@pytest.mark.parametrize("kind", ["code", "token"])
def test_an_invited_device_answers_once_and_its_code_stays_out_of_the_address(
    chromium: Browser, tmp_path: Path, kind: str
) -> None:
    path = written(tmp_path, f'invitations = "{kind}"\n{SLEEP}')
    with running(tmp_path, surveys=(path,), survey_rate=1_000_000) as polled:
        codes = polled.call("cora", "POST", "/v1/surveys/sleep/invitations", json={"count": 2}).json()["codes"]
        with visit(chromium, polled, expected=("Failed to load resource",)) as page:
            seen = watched(page)
            page.goto(f"{polled.url}/s/sleep")
            answer(page)
            page.get_by_role("button", name="Toss the coins").click()
            page.get_by_role("button", name="Send this").click()
            expect(page.get_by_text("type the code of your invitation")).to_be_visible()
            page.get_by_label("Your invitation code").fill("0000-0000-0000-0000")
            page.get_by_role("button", name="Send this").click()
            expect(page.get_by_text("there is no such invitation code")).to_be_visible()
            page.get_by_label("Your invitation code").fill(codes[0].lower())
            page.get_by_role("button", name="Send this").click()
            expect(page.get_by_text("It was sent, and nothing else was.")).to_be_visible()
            sent = [each.post_data or "" for each in seen if each.url.endswith("/reports")]
            assert (codes[0].lower() in sent[-1]) == (kind == "code"), "a token does not name its code"
        with visit(chromium, polled) as page:
            seen = watched(page)
            page.goto(f"{polled.url}/s/sleep#{codes[1]}")
            assert codes[1] not in page.url
            answer(page)
            page.get_by_role("button", name="Toss the coins").click()
            page.get_by_role("button", name="Send this").click()
            expect(page.get_by_text("It was sent, and nothing else was.")).to_be_visible()
            assert not [each for each in seen if codes[1] in each.url]
        assert size(polled) == 2
